#include "report/table.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::report {
namespace {

constexpr size_t kTerminalWidth = 100;
constexpr size_t kNarrowestColumn = 12;

// The first byte of a character in UTF-8, not one of those that continue it.
bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
}

// Width on a terminal, taking a column for each character.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

// Where the character after the first `count` begins.
size_t byte_after(std::string_view text, size_t count) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if (starts_character(text[at]) && count-- == 0) break;
  }
  return at;
}

std::string shortened(const std::string& text, size_t widest) {
  const size_t width = width_of(text);
  if (widest == 0 || width <= widest) return text;
  const size_t keep = widest - 1;
  const size_t tail = byte_after(text, width - keep / 2);
  return text.substr(0, byte_after(text, keep - keep / 2)) + "…" + text.substr(tail);
}

std::string padded(const std::string& text, size_t width, Align align) {
  const std::string fill(width - std::min(width, width_of(text)), ' ');
  return align == Align::kLeft ? text + fill : fill + text;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

void trim_right(std::string& line) {
  line.erase(line.find_last_not_of(' ') + 1);
}

}  // namespace

Format format_from_name(std::string_view name) {
  if (name == "text") return Format::kText;
  if (name == "md") return Format::kMarkdown;
  if (name == "csv") return Format::kCsv;
  if (name == "json") return Format::kJson;
  throw_error("format '{}' is not one of text, md, csv, json", name);
}

Cell count_cell(int64_t number) {
  return {with_commas(number), fmt::format("{}", number)};
}

Cell si_cell(double number) {
  return {si(number), fmt::format("{}", number)};
}

Cell bytes_cell(int64_t bytes) {
  return {bytes_text(static_cast<double>(bytes)), fmt::format("{}", bytes)};
}

Cell fixed_cell(double number, int digits) {
  return {fmt::format("{:.{}f}", number, digits), fmt::format("{}", number)};
}

Cell percent_cell(double share, int digits) {
  return {fmt::format("{:.{}f} %", 100.0 * share, digits), fmt::format("{}", share)};
}

Cell seconds_cell(double seconds) {
  return {seconds_text(seconds), fmt::format("{}", seconds)};
}

void Table::add_row(std::vector<Cell> cells) {
  TY_CHECK(cells.size() == columns_.size(), "{} cells for {} columns", cells.size(),
           columns_.size());
  rows_.push_back(std::move(cells));
}

void Table::add_rule() {
  rows_.emplace_back();
}

std::vector<size_t> Table::natural_widths() const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = width_of(columns_[c].name);
    for (const auto& row : rows_) {
      if (!row.empty())
        width = std::max(width, width_of(shortened(row[c].text, columns_[c].widest)));
    }
    widths.push_back(width);
  }
  return widths;
}

// Two spaces between columns, or one if the table is too wide for that; then shorter text.
std::string Table::fit(std::vector<size_t>& widths) const {
  const size_t sum = std::accumulate(widths.begin(), widths.end(), size_t{0});
  const size_t gaps = widths.empty() ? 0 : widths.size() - 1;
  if (sum + 2 * gaps <= kTerminalWidth) return "  ";
  size_t excess = sum + gaps > kTerminalWidth ? sum + gaps - kTerminalWidth : 0;
  for (size_t c = 0; c < widths.size(); ++c) {
    if (columns_[c].widest == 0 || widths[c] <= kNarrowestColumn) continue;
    const size_t cut = std::min(excess, widths[c] - kNarrowestColumn);
    widths[c] -= cut;
    excess -= cut;
  }
  return " ";
}

std::string Table::to_text() const {
  std::vector<size_t> widths = natural_widths();
  const std::string gap = fit(widths);
  const auto line = [&](const auto& text_of) {
    std::string out;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) out += gap;
      out += padded(text_of(c), widths[c], columns_[c].align);
    }
    trim_right(out);
    return out + "\n";
  };
  std::string rule;
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (c > 0) rule += gap;
    for (size_t i = 0; i < widths[c]; ++i) rule += "─";
  }
  rule += "\n";
  std::string out = line([&](size_t c) { return columns_[c].name; }) + rule;
  for (const auto& row : rows_) {
    out += row.empty() ? rule : line([&](size_t c) {
      const bool may_shorten = columns_[c].widest > 0;
      return may_shorten ? shortened(row[c].text, widths[c]) : row[c].text;
    });
  }
  return out;
}

std::string Table::to_markdown() const {
  std::string out = "|";
  for (const Column& column : columns_) out += " " + column.name + " |";
  out += "\n|";
  for (const Column& column : columns_) out += column.align == Align::kLeft ? " --- |" : " ---: |";
  out += "\n";
  for (const auto& row : rows_) {
    if (row.empty()) continue;
    out += "|";
    for (const Cell& cell : row) out += " " + cell.text + " |";
    out += "\n";
  }
  return out;
}

std::string Table::to_csv() const {
  std::string out;
  const auto line = [&](const auto& field, size_t count) {
    for (size_t i = 0; i < count; ++i) out += (i > 0 ? "," : "") + csv_field(field(i));
    out += "\n";
  };
  const auto key = [&](size_t c) {
    return columns_[c].key.empty() ? columns_[c].name : columns_[c].key;
  };
  line(key, columns_.size());
  for (const auto& row : rows_) {
    if (!row.empty()) line([&](size_t c) { return row[c].raw; }, row.size());
  }
  return out;
}

namespace {

struct TextRenderer {
  std::string operator()(const Heading& heading) const {
    return heading.text + "\n" + std::string(width_of(heading.text), '=') + "\n";
  }
  std::string operator()(const Paragraph& paragraph) const { return paragraph.text + "\n"; }
  std::string operator()(const Table& table) const { return table.to_text(); }
};

struct MarkdownRenderer {
  std::string operator()(const Heading& heading) const { return "## " + heading.text + "\n"; }
  std::string operator()(const Paragraph& paragraph) const { return paragraph.text + "\n"; }
  std::string operator()(const Table& table) const { return table.to_markdown(); }
};

template <typename Renderer>
std::string render_blocks(const Document& document) {
  std::string out;
  for (const auto& block : document.blocks) {
    if (!out.empty()) out += "\n";
    out += std::visit(Renderer{}, block);
  }
  return out;
}

}  // namespace

std::string render(const Document& document, Format format) {
  switch (format) {
    case Format::kText:
      return render_blocks<TextRenderer>(document);
    case Format::kMarkdown:
      return render_blocks<MarkdownRenderer>(document);
    case Format::kJson:
      return document.data.dump() + "\n";
    case Format::kCsv:
      break;
  }
  std::string out;
  for (const auto& block : document.blocks) {
    if (const auto* table = std::get_if<Table>(&block)) {
      if (!out.empty()) out += "\n";
      out += table->to_csv();
    }
  }
  return out;
}

}  // namespace trainyard::report
