// From a table in text to what its columns mean: types are told by the cells of all rows, what is
// measured (means, categories) by those of the training rows alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/table/cell_reader.h"
#include "data/table/table_schema.h"

namespace trainyard::data {

enum class TargetForm : uint8_t { kAny, kClasses, kNumber };

struct TableOptions {
  std::string target;  // a column
  TargetForm form = TargetForm::kAny;
  std::vector<std::string> categories = {};  // columns of numbers that stand for categories
  std::vector<std::string> ignored = {};     // columns
  std::optional<bool> header = {};           // the first row names the columns; none: it shows
  bool normalize = true;
};

// The names of the columns: those of the first row, or "1", "2" and so on.
std::vector<std::string> column_names(const TableText& table, std::optional<bool> header);

// Calls `row` for every row but the names. Throws Error for a row of another number of cells.
void for_each_row(const TableText& table, std::optional<bool> header,
                  const std::function<void(std::span<const std::string_view> cells,
                                           std::string_view place)>& row);

// What all rows show.
struct TableSurvey {
  std::vector<std::string> names;  // of all columns
  size_t target = 0;               // which of them
  std::vector<bool> are_numbers;   // of each column, every cell that is not missing
  // Of each row that has a target: its class, or the number.
  std::vector<std::string> classes = {};  // empty: the target is a number
  std::vector<int64_t> labels = {};
  std::vector<double> numbers = {};
  int64_t without_target = 0;           // rows
  std::vector<std::string> notes = {};  // for people

  int64_t rows() const {
    return static_cast<int64_t>(classes.empty() ? numbers.size() : labels.size());
  }
};

// Throws Error for a target that is not there, is the same in every row, or does not have the form
// that is wished.
TableSurvey survey_table(const TableText& table, const TableOptions& wishes);

// Measured of these rows (ascending, among those that have a target). What is left out is said in
// `notes`. Throws Error if no column is left.
TableSchema fit_schema(const TableText& table, const TableSurvey& survey,
                       const TableOptions& wishes, std::span<const int64_t> rows,
                       std::vector<std::string>& notes);

}  // namespace trainyard::data
