// Rows described once: a list says what each column is called, where its value is and how people
// read it. Tables (text, Markdown, CSV, pages) and JSON are made of that list.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json.h"
#include "report/table.h"

namespace trainyard::report {

// Ways to show a value, beside count_cell, seconds_cell, bytes_cell and si_cell.
struct Fixed {
  int digits;
  Cell operator()(double number) const { return fixed_cell(number, digits); }
};
struct Percent {
  int digits = 1;
  Cell operator()(double share) const { return percent_cell(share, digits); }
};
// What needs no choice of digits: words as they are, yes or no, 1,234.
struct Plain {
  Cell operator()(bool value) const { return value ? "yes" : "no"; }
  Cell operator()(int64_t value) const { return count_cell(value); }
  Cell operator()(uint64_t value) const { return count_cell(static_cast<int64_t>(value)); }
  Cell operator()(std::string_view value) const { return value; }
  Cell operator()(const std::string& value) const { return value; }
  Cell operator()(const char* value) const { return value; }
};

// The member or function `get` of a row in another unit: seconds times 1e3 are milliseconds.
template <typename Get>
auto scaled(Get get, double factor) {
  return [get, factor](const auto& row) { return std::invoke(get, row) * factor; };
}

template <typename Get>
auto divided(Get get, double by) {
  return [get, by](const auto& row) { return std::invoke(get, row) / by; };
}

// One fact of a row.
template <typename Row>
struct Field {
  std::string key;     // in JSON; empty: for people alone
  Column column = {};  // without a name: for programs alone
  std::function<Cell(const Row&)> cell;
  std::function<Json(const Row&)> json;

  Field() = default;
  // `get` is a member or a function of the row; what it returns is the value for programs. `show`
  // makes a cell of the value, or of the row where it needs more than that. An empty optional is
  // null for programs and a dash for people.
  template <typename Get, typename Show>
  Field(std::string name, Column shown, Get get, Show show)
      : key(std::move(name)), column(std::move(shown)), json(value_of(get)) {
    if constexpr (std::is_invocable_v<Show, const Row&>) {
      cell = std::move(show);
    } else {
      cell = [get, show](const Row& row) { return shown_as(std::invoke(get, row), show); };
    }
  }
  template <typename Get>
  Field(std::string name, Column shown, Get get)
      : Field(std::move(name), std::move(shown), get, Plain()) {}
  // For programs alone.
  template <typename Get>
  Field(std::string name, Get get) : key(std::move(name)), json(value_of(get)) {}
  // For people alone.
  static Field shown(Column column, std::function<Cell(const Row&)> cell) {
    Field field;
    field.column = std::move(column);
    field.cell = std::move(cell);
    return field;
  }

 private:
  template <typename Get>
  static std::function<Json(const Row&)> value_of(Get get) {
    return [get](const Row& row) { return as_json(std::invoke(get, row)); };
  }
  template <typename Value>
  static Json as_json(Value value) {
    return Json(std::move(value));
  }
  template <typename Value>
  static Json as_json(std::optional<Value> value) {
    return value ? Json(*std::move(value)) : Json();
  }
  template <typename Value, typename Show>
  static Cell shown_as(const Value& value, const Show& show) {
    return show(value);
  }
  template <typename Value, typename Show>
  static Cell shown_as(const std::optional<Value>& value, const Show& show) {
    return value ? show(*value) : Cell("-");
  }
};

template <typename Row>
using Fields = std::vector<Field<Row>>;

// A share that JSON has in percent.
template <typename Row, typename Get>
Field<Row> percent_field(std::string key, Column column, Get get) {
  return {std::move(key), std::move(column), scaled(get, 100),
          [get](const Row& row) { return percent_cell(std::invoke(get, row)); }};
}

// The fields of a part of a row, such as the figures of a layer.
template <typename Row, typename Part, typename Get>
Fields<Row> of_part(const Fields<Part>& fields, Get get) {
  Fields<Row> out;
  for (const Field<Part>& field : fields) {
    Field<Row> whole;
    whole.key = field.key;
    whole.column = field.column;
    whole.json = [json = field.json, get](const Row& row) { return json(std::invoke(get, row)); };
    if (field.cell) {
      whole.cell = [cell = field.cell, get](const Row& row) { return cell(std::invoke(get, row)); };
    }
    out.push_back(std::move(whole));
  }
  return out;
}

template <typename Row>
Fields<Row> joined(Fields<Row> first, const Fields<Row>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// The heads of CSV: the keys, or the titles that people read. A Column with a key of its own has
// that.
enum class Heads : uint8_t { kTitles, kKeys };

// Without rows.
template <typename Row>
Table empty_table(const Fields<Row>& fields, Heads heads = Heads::kTitles) {
  std::vector<Column> columns;
  for (const Field<Row>& field : fields) {
    if (field.column.name.empty()) continue;
    columns.push_back(field.column);
    if (heads == Heads::kKeys && columns.back().key.empty()) columns.back().key = field.key;
  }
  return Table(std::move(columns));
}

template <typename Row>
std::vector<Cell> cells_of(const Fields<Row>& fields, const Row& row) {
  std::vector<Cell> cells;
  for (const Field<Row>& field : fields) {
    if (!field.column.name.empty()) cells.push_back(field.cell(row));
  }
  return cells;
}

template <typename Row>
Json object_of(const Fields<Row>& fields, const Row& row) {
  Json::Object members;
  for (const Field<Row>& field : fields) {
    if (!field.key.empty()) members.emplace_back(field.key, field.json(row));
  }
  return Json::object_of(std::move(members));
}

template <typename Row, typename Range>
Table table_of(const Fields<Row>& fields, const Range& rows, Heads heads = Heads::kTitles) {
  Table table = empty_table(fields, heads);
  for (const Row& row : rows) table.add_row(cells_of(fields, row));
  return table;
}

template <typename Row, typename Range>
Json objects_of(const Fields<Row>& fields, const Range& rows) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(object_of(fields, row));
  return list;
}

}  // namespace trainyard::report
