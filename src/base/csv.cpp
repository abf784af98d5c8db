#include "base/csv.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text.h"

namespace trainyard {
namespace {

// Reads one record that starts at `at`, which moves behind its line end; `line` counts lines.
// RFC 4180, with line ends of both kinds. A quote within a field that does not begin with one is an
// ordinary character.
std::vector<std::string> read_record(std::string_view text, size_t& at, int& line,
                                     std::string_view origin) {
  std::vector<std::string> fields(1);
  const int first_line = line;
  bool quoted = false;
  while (at < text.size()) {
    const char c = text[at++];
    if (quoted) {
      if (c == '"' && at < text.size() && text[at] == '"') {
        fields.back() += '"';
        ++at;
      } else if (c == '"') {
        quoted = false;
      } else {
        line += c == '\n' ? 1 : 0;
        fields.back() += c;
      }
    } else if (c == '"' && fields.back().empty()) {
      quoted = true;
    } else if (c == ',') {
      fields.emplace_back();
    } else if (c == '\n') {
      ++line;
      return fields;
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  TY_REQUIRE(!quoted, "{}:{}: a quoted field is not closed", origin, first_line);
  ++line;
  return fields;
}

}  // namespace

CsvTable CsvTable::parse(std::string_view text, std::string origin) {
  CsvTable table;
  table.origin_ = std::move(origin);
  size_t at = 0;
  int line = 1;
  while (at < text.size()) {
    const int number = line;
    // Lines that begin with '#' are comments, which the format does not have but tables with
    // sources need. Quotes in them mean nothing.
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size() - 1) + 1;
      ++line;
      continue;
    }
    std::vector<std::string> fields = read_record(text, at, line, table.origin_);
    if (fields.size() == 1 && fields[0].empty()) continue;
    if (table.columns_.empty()) {
      for (const std::string& name : fields) {
        TY_REQUIRE(std::count(fields.begin(), fields.end(), name) == 1,
                   "{}:{}: column '{}' appears twice", table.origin_, number, name);
      }
      table.columns_ = std::move(fields);
      continue;
    }
    TY_REQUIRE(fields.size() == table.columns_.size(),
               "{}:{}: {} fields, but the first line names {} columns", table.origin_, number,
               fields.size(), table.columns_.size());
    table.rows_.push_back({number, std::move(fields)});
  }
  TY_REQUIRE(!table.columns_.empty(), "{}: empty, expected a line of column names", table.origin_);
  return table;
}

bool CsvTable::has_column(std::string_view name) const {
  return std::find(columns_.begin(), columns_.end(), name) != columns_.end();
}

void CsvTable::require_columns(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    TY_REQUIRE(has_column(name), "{}:1: column '{}' is missing; columns here: {}", origin_, name,
               join(columns_, ", "));
  }
}

const std::string& CsvRow::text(std::string_view column) const {
  const auto& columns = table_->columns_;
  const auto found = std::find(columns.begin(), columns.end(), column);
  if (found == columns.end()) fail(column, "there is no such column");
  return table_->rows_[index_].fields[static_cast<size_t>(found - columns.begin())];
}

double CsvRow::number(std::string_view column) const {
  const std::string& field = text(column);
  const auto value = parse_number<double>(field);
  if (!value || !std::isfinite(*value)) {
    fail(column, fmt::format("expected a number, found '{}'", field));
  }
  return *value;
}

int64_t CsvRow::integer(std::string_view column) const {
  const double value = number(column);
  // A double holds whole numbers up to 2^53, about 9e15.
  if (value != std::floor(value) || std::fabs(value) > 9e15) {
    fail(column, fmt::format("expected a whole number, found '{}'", text(column)));
  }
  return static_cast<int64_t>(value);
}

std::optional<double> CsvRow::maybe_number(std::string_view column) const {
  if (text(column).empty()) return std::nullopt;
  return number(column);
}

int CsvRow::line() const {
  return table_->rows_[index_].number;
}

void CsvRow::fail(std::string_view column, std::string_view problem) const {
  throw_error("{}:{}: field '{}': {}", table_->origin_, line(), column, problem);
}

// Also quotes what would be read as a comment.
std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos && !text.starts_with('#')) {
    return std::string(text);
  }
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace trainyard
