// What the columns of a table mean to a network: which are numbers, which are categories, and how
// they are scaled. A network that was trained on a table keeps it in its file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace trainyard::data {

enum class ColumnKind : uint8_t { kNumber, kCategory };

struct TableColumn {
  std::string name;
  ColumnKind kind = ColumnKind::kNumber;
  // Of numbers: the network sees (number - mean) / std, 0 where it is missing.
  double mean = 0;
  double std = 1;
  // Of numbers: some were missing in training, so the network sees which are.
  bool may_miss = false;
  // Of categories: the network sees which of these it is, and none for others and where it is
  // missing.
  std::vector<std::string> values = {};

  bool operator==(const TableColumn&) const = default;
};

// What is to be foretold: one of the classes, or, where there are none, a number.
struct TableTarget {
  std::string name;
  std::vector<std::string> classes = {};
  double mean = 0;  // of numbers, like std
  double std = 1;

  bool is_number() const { return classes.empty(); }
  bool operator==(const TableTarget&) const = default;
};

struct TableSchema {
  std::vector<TableColumn> columns;  // those that the network sees, in its order
  TableTarget target;

  // Of a row as data sets and networks have it: a number for each column. A category is its place
  // among the values; what is missing or not known is NaN.
  int64_t columns_count() const { return static_cast<int64_t>(columns.size()); }
  // Numbers that the first layer sees for a row.
  int64_t width() const;

  Json json() const;
  // Throws Error beginning with `origin`.
  static TableSchema parse(std::string_view text, std::string_view origin);

  bool operator==(const TableSchema&) const = default;
};

// Empty, "?", "NA", "N/A", "NaN", "null" or "None".
bool is_missing_cell(std::string_view cell);
// A finite number, as tables have them; none: it is a text.
std::optional<double> number_of_cell(std::string_view cell);

// Of a cell without blanks around it. `place` begins errors: throws Error for a text where a number
// is expected.
float encode_cell(const TableColumn& column, std::string_view cell, std::string_view place);

}  // namespace trainyard::data
