// Tables that a user brings to a lab.
#include <algorithm>

#include "base/csv.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "program/lab/choices.h"

namespace trainyard::lab {
namespace {

constexpr std::string_view kNoFile = "none";

// "images/s" -> "images_per_s": a name as queries have them.
std::string query_name(std::string column) {
  const size_t slash = column.find('/');
  if (slash != std::string::npos) column.replace(slash, 1, "_per_");
  std::replace(column.begin(), column.end(), ' ', '_');
  return column;
}

Json field_of(const CsvRow& row, const std::string& column) {
  const std::string& text = row.text(column);
  if (text.empty()) return {};
  // A column of numbers is one all over; the first field of a device is no number.
  return text.find_first_not_of("+-.0123456789eE") == std::string::npos ? Json(row.number(column))
                                                                        : Json(text);
}

Json rows_of(const CsvTable& table, const Input& input) {
  std::vector<std::string> columns;
  for (std::string column : input.columns) {
    const bool optional = column.ends_with('?');
    if (optional) column.pop_back();
    const bool there = table.has_column(column);
    if (!there && !optional) table.require_columns({column});
    if (there) columns.push_back(std::move(column));
  }
  Json rows = Json::array();
  for (size_t i = 0; i < table.size(); ++i) {
    Json fields = Json::object();
    for (const std::string& column : columns) {
      fields[query_name(column)] = field_of(table.row(i), column);
    }
    rows.push_back(std::move(fields));
  }
  return rows;
}

}  // namespace

Json inputs_of(const Lab& lab, const Json& settings) {
  Json inputs = Json::object();
  for (const Input& input : lab.inputs) {
    const std::string& file = settings.at(input.setting).as_string();
    inputs[input.setting] =
        file == kNoFile ? Json::array() : rows_of(CsvTable::parse(read_file(file), file), input);
  }
  return inputs;
}

}  // namespace trainyard::lab
