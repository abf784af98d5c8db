// A table as text, for a terminal of some width.
#include <algorithm>
#include <numeric>
#include <optional>

#include "base/terminal.h"
#include "base/text.h"
#include "report/table.h"

namespace trainyard::report {
namespace {

constexpr size_t kNarrowestColumn = 12;

std::string without_middle(const std::string& text, size_t widest) {
  const size_t width = width_of(text);
  if (widest == 0 || width <= widest) return text;
  const size_t keep = widest - 1;
  const size_t tail = byte_after(text, width - keep / 2);
  return text.substr(0, byte_after(text, keep - keep / 2)) + "…" + text.substr(tail);
}

// Where a line may end: after spaces, and after the slashes of a path.
std::vector<std::string> pieces_of(const std::string& text) {
  std::vector<std::string> pieces;
  for (const std::string& word : split(text, ' ')) {
    pieces.emplace_back();
    const bool path = std::count(word.begin(), word.end(), '/') > 1;
    for (const char c : word) {
      pieces.back() += c;
      if (path && c == '/') pieces.emplace_back();
    }
    pieces.back() += ' ';
  }
  return pieces;
}

void trim_right(std::string& line) {
  line.erase(line.find_last_not_of(' ') + 1);
}

size_t width_without_end(std::string text) {
  trim_right(text);
  return width_of(text);
}

size_t longest_piece(const std::string& text) {
  size_t longest = 0;
  for (const std::string& piece : pieces_of(text)) {
    longest = std::max(longest, width_without_end(piece));
  }
  return longest;
}

// Lines of at most `width`, at least one. What cannot be broken and is longer is cut.
std::vector<std::string> lines_of(const std::string& text, size_t width) {
  if (width_of(text) <= width) return {text};
  std::vector<std::string> lines(1);
  for (std::string piece : pieces_of(text)) {
    if (!lines.back().empty() && width_of(lines.back()) + width_without_end(piece) > width) {
      lines.emplace_back();
    }
    while (width_without_end(piece) > width) {
      const size_t cut = byte_after(piece, width);
      lines.back() = piece.substr(0, cut);
      lines.emplace_back();
      piece.erase(0, cut);
    }
    lines.back() += piece;
  }
  for (std::string& line : lines) trim_right(line);
  return lines;
}

// A column with all its rows.
class TextColumn {
 public:
  // `cells` of a rule are empty. `shortest`: text may be shortened to this; 0: not at all.
  TextColumn(std::string name, Align align, size_t shortest, std::vector<std::string> cells)
      : name_(std::move(name)), align_(align), shortest_(shortest), cells_(std::move(cells)) {
    width_ = width_of(name_);
    least_ = longest_piece(name_);
    for (const std::string& cell : cells_) {
      const size_t width = width_of(cell);
      width_ = std::max(width_, width);
      if (width > least_) least_ = std::max(least_, wraps() ? longest_piece(cell) : width);
    }
    if (shortest_ > 0) least_ = std::min(least_, shortest_);
  }

  Align align() const { return align_; }
  // Of all in one line.
  size_t width() const { return width_; }
  // With no more than text shortened.
  size_t shortened_width() const { return shortest_ > 0 ? std::min(width_, shortest_) : width_; }
  // With no word cut; numbers stay whole.
  size_t least_width() const { return least_; }
  // With words cut.
  size_t cut_width() const { return wraps() ? std::min(least_, kNarrowestColumn) : least_; }

  std::vector<std::string> name_lines(size_t width) const { return lines_of(name_, width); }
  std::vector<std::string> lines(size_t row, size_t width) const {
    if (wraps()) return lines_of(cells_[row], width);
    return {shortest_ > 0 ? without_middle(cells_[row], width) : cells_[row]};
  }

 private:
  bool wraps() const { return align_ == Align::kLeft && shortest_ == 0; }

  std::string name_;
  Align align_;
  size_t shortest_;
  std::vector<std::string> cells_;
  size_t width_ = 0;
  size_t least_ = 0;
};

using Columns = std::vector<const TextColumn*>;

std::vector<size_t> widths_of(const Columns& part, size_t (TextColumn::*width)() const) {
  std::vector<size_t> widths;
  for (const TextColumn* column : part) widths.push_back((column->*width)());
  return widths;
}

size_t sum_of(const std::vector<size_t>& widths, size_t gap) {
  return std::accumulate(widths.begin(), widths.end(), size_t{0}) + gap * (widths.size() - 1);
}

// Takes from the widest column again and again; nothing if the least widths do not fit.
std::optional<std::vector<size_t>> narrowed(std::vector<size_t> widths,
                                            const std::vector<size_t>& least, size_t gap,
                                            size_t limit) {
  while (sum_of(widths, gap) > limit) {
    size_t widest = widths.size();
    for (size_t c = 0; c < widths.size(); ++c) {
      if (widths[c] > least[c] && (widest == widths.size() || widths[c] > widths[widest])) {
        widest = c;
      }
    }
    if (widest == widths.size()) return {};
    --widths[widest];
  }
  return widths;
}

struct Layout {
  size_t gap = 2;
  std::vector<size_t> widths;
};

// Two spaces between columns, or one if that is enough; then shorter text, then more lines.
std::optional<Layout> layout_of(const Columns& part, size_t limit) {
  const std::vector<size_t> whole = widths_of(part, &TextColumn::width);
  if (limit == 0) return Layout{2, whole};
  const std::vector<size_t> shorter = widths_of(part, &TextColumn::shortened_width);
  const std::vector<size_t> least = widths_of(part, &TextColumn::least_width);
  const std::pair<size_t, const std::vector<size_t>*> tries[] = {
      {2, &whole}, {1, &whole}, {1, &shorter}, {2, &least}, {1, &least}};
  for (const auto& [gap, floor] : tries) {
    if (const auto fitting = narrowed(whole, *floor, gap, limit)) return Layout{gap, *fitting};
  }
  return {};
}

// Of columns that are too wide with whole words.
Layout tight_layout(const Columns& part, size_t limit) {
  const std::vector<size_t> least = widths_of(part, &TextColumn::cut_width);
  return {1, narrowed(widths_of(part, &TextColumn::least_width), least, 1, limit).value_or(least)};
}

std::string drawn(const Columns& columns, const Layout& layout, const std::vector<bool>& rules) {
  const std::string gap(layout.gap, ' ');
  std::string rule;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (c > 0) rule += gap;
    for (size_t i = 0; i < layout.widths[c]; ++i) rule += "─";
  }
  rule += "\n";
  // Names stand right above the rule, cells begin on the first line of their row.
  const auto row_text = [&](const std::vector<std::vector<std::string>>& cells, bool at_end) {
    size_t height = 1;
    for (const auto& lines : cells) height = std::max(height, lines.size());
    std::string out;
    for (size_t i = 0; i < height; ++i) {
      std::string line;
      for (size_t c = 0; c < cells.size(); ++c) {
        const size_t before = at_end ? height - cells[c].size() : 0;
        const bool inside = i >= before && i - before < cells[c].size();
        if (c > 0) line += gap;
        line += padded(inside ? cells[c][i - before] : "", layout.widths[c], columns[c]->align());
      }
      trim_right(line);
      out += line + "\n";
    }
    return out;
  };
  std::vector<std::vector<std::string>> names;
  for (size_t c = 0; c < columns.size(); ++c) {
    names.push_back(columns[c]->name_lines(layout.widths[c]));
  }
  std::string out = row_text(names, true) + rule;
  for (size_t r = 0; r < rules.size(); ++r) {
    std::vector<std::vector<std::string>> cells;
    for (size_t c = 0; c < columns.size(); ++c) {
      cells.push_back(columns[c]->lines(r, layout.widths[c]));
    }
    out += rules[r] ? rule : row_text(cells, false);
  }
  return out;
}

}  // namespace

std::string Table::to_text() const {
  // In front, so that the digits of a column stay under each other.
  const auto texts = marked("*", "");
  std::vector<bool> rules;
  for (const auto& row : texts) rules.push_back(row.empty());
  std::vector<TextColumn> columns;
  for (size_t c = 0; c < columns_.size(); ++c) {
    std::vector<std::string> cells;
    for (const auto& row : texts) cells.push_back(row.empty() ? "" : row[c]);
    columns.emplace_back(columns_[c].name, columns_[c].align,
                         std::min(columns_[c].widest, kNarrowestColumn), std::move(cells));
  }
  const size_t limit = terminal_columns();
  std::string out;
  for (size_t next = 0; next < columns.size();) {
    Columns part;
    if (next > 0) part.push_back(&columns[0]);
    part.push_back(&columns[next++]);
    std::optional<Layout> layout = layout_of(part, limit);
    while (next < columns.size()) {
      part.push_back(&columns[next]);
      const std::optional<Layout> wider = layout_of(part, limit);
      // The first column says whose row it is and does not stand alone.
      if (!wider && part.size() > 2) {
        part.pop_back();
        break;
      }
      layout = wider;
      ++next;
    }
    if (!out.empty()) out += "\n";
    out += drawn(part, layout ? *layout : tight_layout(part, limit), rules);
  }
  return out;
}

}  // namespace trainyard::report
