// Small CSV reader (RFC 4180 quotes) for tables that people write; errors name file, line, field.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

class CsvTable;

// One row of a table; valid as long as the table.
class CsvRow {
 public:
  CsvRow(const CsvTable& table, size_t index) : table_(&table), index_(index) {}

  // The field's text; throws Error if the table has no such column.
  const std::string& text(std::string_view column) const;
  // Throws Error naming file, line and column if the field is not a number.
  double number(std::string_view column) const;
  int64_t integer(std::string_view column) const;
  // No value for an empty field.
  std::optional<double> maybe_number(std::string_view column) const;
  int line() const;
  [[noreturn]] void fail(std::string_view column, std::string_view problem) const;

 private:
  const CsvTable* table_;
  size_t index_;
};

class CsvTable {
 public:
  // The first line holds the column names. Throws Error for an unclosed quote, a row with another
  // number of fields, or a column named twice. Empty lines and lines starting with # are skipped.
  static CsvTable parse(std::string_view text, std::string origin);

  const std::string& origin() const { return origin_; }
  const std::vector<std::string>& columns() const { return columns_; }
  bool has_column(std::string_view name) const;
  size_t size() const { return rows_.size(); }
  CsvRow row(size_t index) const { return {*this, index}; }
  // Throws Error naming the missing column and the ones there are.
  void require_columns(std::initializer_list<std::string_view> names) const;

 private:
  friend class CsvRow;
  struct Line {
    int number = 0;
    std::vector<std::string> fields;
  };
  std::string origin_;
  std::vector<std::string> columns_;
  std::vector<Line> rows_;
};

// The field, in quotes where it needs them.
std::string csv_field(std::string_view text);

}  // namespace trainyard
