#include "data/table/table_schema.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/error.h"
#include "base/parse_number.h"

namespace trainyard::data {
namespace {

constexpr const char* kNumberKind = "number";
constexpr const char* kCategoryKind = "category";

std::vector<std::string> texts_of(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& item : list.items()) texts.push_back(item.as_string());
  return texts;
}

double finite_of(const Json& object, std::string_view key) {
  const double value = object.at(key).as_number();
  TY_REQUIRE(std::isfinite(value), "'{}' is not finite", key);
  return value;
}

double deviation_of(const Json& object) {
  const double value = finite_of(object, "std");
  TY_REQUIRE(value > 0, "'std' is {}, expected more than 0", value);
  return value;
}

TableColumn parse_column(const Json& json) {
  TableColumn column{.name = json.at("name").as_string()};
  const std::string& kind = json.at("kind").as_string();
  if (kind == kCategoryKind) {
    column.kind = ColumnKind::kCategory;
    column.values = texts_of(json.at("values"));
    return column;
  }
  TY_REQUIRE(kind == kNumberKind, "column '{}' is of kind '{}', expected {} or {}", column.name,
             kind, kNumberKind, kCategoryKind);
  column.mean = finite_of(json, "mean");
  column.std = deviation_of(json);
  column.may_miss = json.at("may_miss").as_bool();
  return column;
}

Json column_json(const TableColumn& column) {
  if (column.kind == ColumnKind::kCategory) {
    return Json::object({{"name", column.name},
                         {"kind", kCategoryKind},
                         {"values", Json::array_of(column.values)}});
  }
  return Json::object({{"name", column.name},
                       {"kind", kNumberKind},
                       {"mean", column.mean},
                       {"std", column.std},
                       {"may_miss", column.may_miss}});
}

TableSchema parse_schema(const Json& json) {
  TableSchema schema;
  for (const Json& column : json.at("columns").items()) {
    schema.columns.push_back(parse_column(column));
  }
  TY_REQUIRE(!schema.columns.empty(), "there are no columns");
  const Json& target = json.at("target");
  schema.target.name = target.at("name").as_string();
  if (const Json* classes = target.find("classes")) {
    schema.target.classes = texts_of(*classes);
    TY_REQUIRE(!schema.target.classes.empty(), "the target has no classes");
  } else {
    schema.target.mean = finite_of(target, "mean");
    schema.target.std = deviation_of(target);
  }
  return schema;
}

}  // namespace

int64_t TableSchema::width() const {
  int64_t width = 0;
  for (const TableColumn& column : columns) {
    width += column.kind == ColumnKind::kNumber ? (column.may_miss ? 2 : 1)
                                                : static_cast<int64_t>(column.values.size());
  }
  return width;
}

Json TableSchema::json() const {
  Json list = Json::array();
  for (const TableColumn& column : columns) list.push_back(column_json(column));
  Json of_target = Json::object({{"name", target.name}});
  if (target.is_number()) {
    of_target["mean"] = target.mean;
    of_target["std"] = target.std;
  } else {
    of_target["classes"] = Json::array_of(target.classes);
  }
  return Json::object({{"columns", std::move(list)}, {"target", std::move(of_target)}});
}

TableSchema TableSchema::parse(std::string_view text, std::string_view origin) {
  const Json json = Json::parse(text, origin);
  try {
    return parse_schema(json);
  } catch (const Error& error) {
    throw_error("{}: {}", origin, error.what());
  }
}

bool is_missing_cell(std::string_view cell) {
  constexpr std::array<std::string_view, 9> kWords = {"",    "?",    "NA",   "N/A", "NaN",
                                                      "nan", "null", "NULL", "None"};
  return std::find(kWords.begin(), kWords.end(), cell) != kWords.end();
}

std::optional<double> number_of_cell(std::string_view cell) {
  if (cell.starts_with('+')) cell.remove_prefix(1);
  const std::optional<double> number = parse_number<double>(cell);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return number;
}

float encode_cell(const TableColumn& column, std::string_view cell, std::string_view place) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  if (is_missing_cell(cell)) return kNone;
  if (column.kind == ColumnKind::kCategory) {
    const auto found = std::find(column.values.begin(), column.values.end(), cell);
    return found == column.values.end() ? kNone : static_cast<float>(found - column.values.begin());
  }
  const std::optional<double> number = number_of_cell(cell);
  // Differences of numbers, and one over their deviation, must be floats.
  constexpr double kLargest = 1e30;
  TY_REQUIRE(number, "{}: '{}' of column '{}' is no number", place, cell, column.name);
  TY_REQUIRE(std::fabs(*number) <= kLargest,
             "{}: '{}' of column '{}' is beyond {:.0e}, the most that a number may be; count it in "
             "a larger unit",
             place, cell, column.name, kLargest);
  return static_cast<float>(*number);
}

}  // namespace trainyard::data
