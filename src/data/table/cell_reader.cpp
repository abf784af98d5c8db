#include "data/table/cell_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "data/table/table_schema.h"
#include "data/text/text_files.h"
#include "data/unpack.h"

namespace trainyard::data {
namespace {

constexpr char kBlanks = ' ';

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

std::string_view trimmed(std::string_view cell) {
  while (!cell.empty() && is_blank(cell.front())) cell.remove_prefix(1);
  while (!cell.empty() && is_blank(cell.back())) cell.remove_suffix(1);
  return cell;
}

// The most frequent of comma, semicolon and tab outside of quotes; blanks where there are none.
char separator_of(std::string_view line) {
  constexpr std::array<char, 3> kSeparators = {',', ';', '\t'};
  std::array<int64_t, 3> counts = {};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    for (size_t i = 0; i < counts.size(); ++i) counts[i] += !quoted && c == kSeparators[i] ? 1 : 0;
  }
  const auto most = std::max_element(counts.begin(), counts.end());
  if (*most > 0) return kSeparators[static_cast<size_t>(most - counts.begin())];
  return trimmed(line).find(' ') == std::string_view::npos ? ',' : kBlanks;
}

}  // namespace

TableText TableText::read(const std::filesystem::path& file) {
  return {read_unpacked(file), file.string()};
}

TableText::TableText(std::string text, std::string origin)
    : text_(std::move(text)), origin_(std::move(origin)) {
  if (text_.starts_with("\xef\xbb\xbf")) text_.erase(0, 3);
  require_text(text_, origin_);
  const size_t begin = text_.find_first_not_of("\r\n");
  TY_REQUIRE(begin != std::string::npos, "{}: the file has no rows", origin_);
  separator_ = separator_of(std::string_view(text_).substr(begin, text_.find('\n', begin) - begin));
  std::vector<std::string_view> cells;
  CellReader(*this).next(cells);
  first_cells_.assign(cells.begin(), cells.end());
}

bool TableText::names_columns() const {
  return std::none_of(first_cells_.begin(), first_cells_.end(), [](const std::string& cell) {
    return is_missing_cell(cell) ? !cell.empty() : number_of_cell(cell).has_value();
  });
}

CellReader::CellReader(const TableText& table) : table_(table), rest_(table.text()) {}

std::string CellReader::place() const {
  return fmt::format("{}, line {}", table_.origin(), line_);
}

bool CellReader::skip_blank_lines() {
  while (!rest_.empty()) {
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    if (!trimmed(rest_.substr(0, end)).empty()) return true;
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++next_line_;
  }
  return false;
}

// A cell that begins with a quote ends at the next one that is not doubled.
void CellReader::read_quoted(std::vector<std::string_view>& cells) {
  if (used_ == unquoted_.size()) unquoted_.emplace_back();
  std::string& own = unquoted_[used_++];
  own.clear();
  rest_.remove_prefix(1);
  while (true) {
    const size_t quote = rest_.find('"');
    TY_REQUIRE(quote != std::string_view::npos, "{}: a quote has no end", place());
    const std::string_view part = rest_.substr(0, quote);
    next_line_ += std::count(part.begin(), part.end(), '\n');
    own += part;
    rest_.remove_prefix(quote + 1);
    if (!rest_.starts_with('"')) break;
    own += '"';
    rest_.remove_prefix(1);
  }
  // What follows up to the separator belongs to nothing.
  const size_t end = rest_.find_first_of(std::string{table_.separator(), '\n'});
  TY_REQUIRE(trimmed(rest_.substr(0, std::min(end, rest_.size()))).empty(),
             "{}: expected the end of the cell behind a quote", place());
  rest_.remove_prefix(std::min(end, rest_.size()));
  // The text is looked up once the row is complete: `unquoted_` may still move.
  cells.emplace_back();
}

void CellReader::read_cell(std::vector<std::string_view>& cells) {
  const char separator = table_.separator();
  while (!rest_.empty() && is_blank(rest_.front()) && rest_.front() != separator) {
    rest_.remove_prefix(1);
  }
  if (separator == kBlanks) {
    while (rest_.starts_with(kBlanks)) rest_.remove_prefix(1);
  }
  if (rest_.starts_with('"')) return read_quoted(cells);
  const size_t end = rest_.find_first_of(std::string_view{separator == '\t'  ? "\t\n"
                                                          : separator == ';' ? ";\n"
                                                          : separator == ' ' ? " \t\n"
                                                                             : ",\n"});
  const std::string_view cell = rest_.substr(0, std::min(end, rest_.size()));
  rest_.remove_prefix(cell.size());
  cells.push_back(trimmed(cell));
}

bool CellReader::next(std::vector<std::string_view>& cells) {
  cells.clear();
  used_ = 0;
  if (!skip_blank_lines()) return false;
  line_ = next_line_;
  std::vector<size_t> quoted;
  while (true) {
    const size_t before = used_;
    read_cell(cells);
    if (used_ > before) quoted.push_back(cells.size() - 1);
    TY_REQUIRE(static_cast<int64_t>(cells.size()) <= kMostColumns,
               "{}: the row has more than {} cells, which is the most that a table may have; is "
               "it one row a line?",
               place(), kMostColumns);
    const bool ends = rest_.empty() || rest_.front() == '\n';
    if (!rest_.empty()) rest_.remove_prefix(1);
    if (ends) break;
    // Blanks at the end of a line separate nothing.
    if (table_.separator() == kBlanks) {
      const size_t end = std::min(rest_.find('\n'), rest_.size());
      if (!trimmed(rest_.substr(0, end)).empty()) continue;
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      break;
    }
  }
  ++next_line_;
  for (size_t i = 0; i < quoted.size(); ++i) cells[quoted[i]] = unquoted_[i];
  return true;
}

}  // namespace trainyard::data
