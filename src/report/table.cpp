#include "report/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/printable.h"
#include "base/text.h"
#include "report/html.h"

namespace trainyard::report {
namespace {

// The first byte of a character in UTF-8, not one of those that continue it.
bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
}

// RFC 4180.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

// A bar would end the cell of a Markdown table.
std::string without_bars(const std::string& text) {
  return join(split(text, '|'), "\\|");
}

}  // namespace

// Columns on a terminal, taking every character for one column wide.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

// Where `text` can be cut without splitting a character.
size_t byte_after(std::string_view text, size_t count) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if (starts_character(text[at]) && count-- == 0) break;
  }
  return at;
}

std::string padded(const std::string& text, size_t width, Align align) {
  const std::string fill(width - std::min(width, width_of(text)), ' ');
  return align == Align::kLeft ? text + fill : fill + text;
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
  return {fixed_text(number, digits), fmt::format("{}", number)};
}

Cell percent_cell(double share, int digits) {
  return {fixed_text(100.0 * share, digits) + " %", fmt::format("{}", share)};
}

Cell seconds_cell(double seconds) {
  return {seconds_text(seconds), fmt::format("{}", seconds)};
}

void Table::add_row(std::vector<Cell> cells) {
  TY_CHECK(cells.size() == columns_.size(), "{} cells for {} columns", cells.size(),
           columns_.size());
  rows_.push_back(std::move(cells));
}

void Table::add_struck_row(std::vector<Cell> cells) {
  struck_.insert(rows_.size());
  add_row(std::move(cells));
}

// An empty row, which texts and pages show as a line and other formats leave out.
void Table::add_rule() {
  rows_.emplace_back();
}

// The first and the last rows. Marks of best are dropped, since the best may be left out.
Table Table::ends(size_t each) const {
  TY_CHECK(rows_.size() > 2 * each, "{} rows are not more than twice {}", rows_.size(), each);
  std::vector<Column> columns = columns_;
  for (Column& column : columns) column.best = Best::kNone;
  Table out(std::move(columns));
  for (size_t r = 0; r < rows_.size(); ++r) {
    if (r == each) out.add_rule();
    if (each <= r && r < rows_.size() - each) continue;
    if (struck_.contains(r)) out.struck_.insert(out.rows_.size());
    out.rows_.push_back(rows_[r]);
  }
  return out;
}

std::vector<bool> Table::best_rows(size_t column) const {
  std::vector<bool> best(rows_.size(), false);
  const Best wanted = columns_[column].best;
  if (wanted == Best::kNone) return best;
  // By the raw number, so units and rounding of the text do not matter; texts are skipped.
  std::vector<std::pair<double, size_t>> numbers;
  for (size_t r = 0; r < rows_.size(); ++r) {
    if (rows_[r].empty() || struck_.contains(r)) continue;
    const auto number = parse_number<double>(rows_[r][column].raw);
    if (number) numbers.emplace_back(*number, r);
  }
  if (numbers.size() < 2) return best;
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  // What is printed alike is equally good, and where all is alike none is best.
  if (rows_[low->second][column].text == rows_[high->second][column].text) return best;
  const size_t first = wanted == Best::kLowest ? low->second : high->second;
  for (const auto& [value, row] : numbers) {
    best[row] = rows_[row][column].text == rows_[first][column].text;
  }
  return best;
}

// In columns first, because what is best is a matter of a column.
std::vector<std::vector<std::string>> Table::marked(std::string_view before,
                                                    std::string_view after) const {
  std::vector<std::vector<std::string>> texts(rows_.size());
  for (size_t c = 0; c < columns_.size(); ++c) {
    const std::vector<bool> best = best_rows(c);
    for (size_t r = 0; r < rows_.size(); ++r) {
      if (rows_[r].empty()) continue;
      const std::string text = printable_line(rows_[r][c].text);
      if (struck_.contains(r) && !text.empty()) {
        texts[r].push_back("~~" + text + "~~");
      } else {
        texts[r].push_back(best[r] ? fmt::format("{}{}{}", before, text, after) : text);
      }
    }
  }
  return texts;
}

std::string Table::to_markdown() const {
  std::string out = "|";
  for (const Column& column : columns_) out += " " + without_bars(column.name) + " |";
  out += "\n|";
  for (const Column& column : columns_) out += column.align == Align::kLeft ? " --- |" : " ---: |";
  out += "\n";
  for (const auto& row : marked("**", "**")) {
    if (row.empty()) continue;
    out += "|";
    for (const std::string& text : row) out += " " + without_bars(text) + " |";
    out += "\n";
  }
  return out;
}

// Raw numbers under the keys of columns: for programs, so neither units nor marks.
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

// Every text is escaped: names come from models and files of others.
std::string Table::to_html(std::string_view caption) const {
  std::string out = "<div class=\"scroll\" tabindex=\"0\"><table>\n";
  if (!caption.empty()) out += "<caption>" + html_escaped(caption) + "</caption>\n";
  out += "<thead><tr>";
  const auto style = [&](size_t c) { return columns_[c].align == Align::kLeft ? "l" : "r"; };
  for (size_t c = 0; c < columns_.size(); ++c) {
    out += fmt::format("<th scope=\"col\" class=\"{}\">{}</th>", style(c),
                       html_escaped(columns_[c].name));
  }
  out += "</tr></thead>\n<tbody>\n";
  std::vector<std::vector<bool>> best;
  for (size_t c = 0; c < columns_.size(); ++c) best.push_back(best_rows(c));
  bool ruled = false;
  for (size_t r = 0; r < rows_.size(); ++r) {
    if (rows_[r].empty()) {
      ruled = true;
      continue;
    }
    std::vector<std::string> kinds;
    if (ruled) kinds.emplace_back("ruled");
    if (struck_.contains(r)) kinds.emplace_back("struck");
    out += kinds.empty() ? "<tr>" : fmt::format("<tr class=\"{}\">", join(kinds, " "));
    ruled = false;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const Cell& cell = rows_[r][c];
      constexpr size_t kLongText = 48;  // is shown in several lines
      out += fmt::format("<td class=\"{}{}{}\"", style(c), best[c][r] ? " best" : "",
                         cell.text.size() > kLongText ? " long" : "");
      // What sorting and downloads take.
      if (cell.raw != cell.text) out += fmt::format(" data-raw=\"{}\"", html_escaped(cell.raw));
      out += fmt::format(">{}</td>", html_escaped(cell.text));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace trainyard::report
