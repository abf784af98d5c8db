#include "report/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "report/table.h"

namespace trainyard::report {
namespace {

// In the order of the enumerations; pages and YAML files of labs use these names.
constexpr std::array<std::string_view, 7> kKindNames = {
    "line", "scatter", "bar", "stacked", "histogram", "heat-map", "timeline"};
constexpr std::array<std::string_view, 6> kOriginNames = {"plain",     "measured", "predicted",
                                                          "published", "ideal",    "extrapolated"};

template <typename Enum, size_t N>
Enum from_name(const std::array<std::string_view, N>& names, std::string_view name,
               std::string_view what) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  const std::vector<std::string> all(names.begin(), names.end());
  throw_error("there is no {} '{}', only {}.{}", what, name, join(all, ", "),
              did_you_mean(name, all));
}

Cell number_cell(double number) {
  // A gap of a series, not a number that went wrong.
  if (std::isnan(number)) return {"", ""};
  return {fmt::format("{:.6g}", number), fmt::format("{}", number)};
}

Cell place_cell(const Axis& axis, double at) {
  // On an axis of categories x is an index, shown by name.
  const auto index = static_cast<size_t>(at);
  if (at >= 0 && index < axis.categories.size()) return axis.categories[index];
  return number_cell(at);
}

Align align_of(const Axis& axis) {
  return axis.categories.empty() ? Align::kRight : Align::kLeft;
}

std::string name_or(const std::string& name, std::string_view fallback) {
  return name.empty() ? std::string(fallback) : name;
}

bool has_errors(const Series& series) {
  return std::any_of(series.points.begin(), series.points.end(),
                     [](const ChartPoint& p) { return !std::isnan(p.low) || !std::isnan(p.high); });
}

// A column per series, if no series has two points at one x.
bool is_function(const Chart& chart) {
  for (const Series& series : chart.series) {
    std::map<double, int> seen;
    for (const ChartPoint& point : series.points) {
      if (++seen[point.x] > 1) return false;
    }
  }
  return true;
}

Table wide_table(const Chart& chart) {
  std::vector<Column> columns = {{name_or(chart.x.name, "x"), align_of(chart.x)}};
  std::map<double, std::vector<Cell>> rows;
  size_t width = 0;
  for (const Series& series : chart.series) width += has_errors(series) ? 3 : 1;
  size_t at = 0;
  for (const Series& series : chart.series) {
    const std::string name = name_or(series.name, name_or(chart.y.name, "y"));
    columns.push_back({name});
    const bool errors = has_errors(series);
    if (errors) {
      columns.push_back({name + ", low"});
      columns.push_back({name + ", high"});
    }
    for (const ChartPoint& point : series.points) {
      std::vector<Cell>& row =
          rows.try_emplace(point.x, std::vector<Cell>(width, Cell(""))).first->second;
      row[at] = number_cell(point.y);
      if (!errors) continue;
      row[at + 1] = number_cell(point.low);
      row[at + 2] = number_cell(point.high);
    }
    at += errors ? 3 : 1;
  }
  Table table(std::move(columns));
  for (auto& [x, cells] : rows) {
    cells.insert(cells.begin(), place_cell(chart.x, x));
    table.add_row(std::move(cells));
  }
  return table;
}

// A row per point.
Table long_table(const Chart& chart) {
  const bool bins = chart.kind == ChartKind::kHistogram;
  const bool spans = chart.kind == ChartKind::kTimeline;
  const bool map = chart.kind == ChartKind::kHeatMap;
  std::vector<Column> columns = {{"series", Align::kLeft}};
  if (spans) columns.push_back({name_or(chart.y.name, "lane"), Align::kLeft});
  if (bins || spans) {
    columns.push_back({bins ? name_or(chart.x.name, "x") + " from" : "from"});
    columns.push_back({"to"});
  } else {
    columns.push_back({name_or(chart.x.name, "x"), align_of(chart.x)});
  }
  if (!spans) columns.push_back({name_or(chart.y.name, "y"), align_of(chart.y)});
  if (map) columns.push_back({"value"});
  columns.push_back({"label", Align::kLeft});
  Table table(std::move(columns));
  for (const Series& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      std::vector<Cell> row = {series.name};
      if (spans) row.push_back(place_cell(chart.y, point.y));
      if (bins || spans) {
        row.push_back(number_cell(point.low));
        row.push_back(number_cell(point.high));
      } else {
        row.push_back(place_cell(chart.x, point.x));
      }
      if (!spans) row.push_back(place_cell(chart.y, point.y));
      if (map) row.push_back(number_cell(point.value));
      row.emplace_back(point.label);
      table.add_row(std::move(row));
    }
  }
  return table;
}

Json axis_json(const Axis& axis) {
  Json json = Json::object({{"name", axis.name}, {"log", axis.log}});
  if (!axis.categories.empty()) json["categories"] = Json::array_of(axis.categories);
  return json;
}

// JSON has neither NaN nor infinities.
Json or_null(double number) {
  return std::isfinite(number) ? Json(number) : Json();
}

}  // namespace

ChartKind chart_kind_from_name(std::string_view name) {
  return from_name<ChartKind>(kKindNames, name, "chart");
}

std::string_view chart_kind_name(ChartKind kind) {
  return kKindNames[static_cast<size_t>(kind)];
}

Origin origin_from_name(std::string_view name) {
  return from_name<Origin>(kOriginNames, name, "origin");
}

std::string_view origin_name(Origin origin) {
  return kOriginNames[static_cast<size_t>(origin)];
}

Table chart_table(const Chart& chart) {
  const bool by_x = chart.kind == ChartKind::kLine || chart.kind == ChartKind::kScatter ||
                    chart.kind == ChartKind::kBar || chart.kind == ChartKind::kStackedBar;
  // Labels belong to points, and a wide table has no cell for them.
  const bool labeled =
      std::any_of(chart.series.begin(), chart.series.end(), [](const Series& series) {
        return std::any_of(series.points.begin(), series.points.end(),
                           [](const ChartPoint& point) { return !point.label.empty(); });
      });
  return by_x && !labeled && is_function(chart) ? wide_table(chart) : long_table(chart);
}

Json chart_json(const Chart& chart) {
  Json json = Json::object({{"kind", chart_kind_name(chart.kind)},
                            {"title", chart.title},
                            {"x", axis_json(chart.x)},
                            {"y", axis_json(chart.y)},
                            {"series", Json::array()}});
  for (const Series& series : chart.series) {
    Json points = Json::array();
    for (const ChartPoint& p : series.points) {
      Json point = Json::array();
      for (const double number : {p.x, p.y, p.low, p.high, p.value}) {
        point.push_back(or_null(number));
      }
      point.push_back(p.label);
      points.push_back(std::move(point));
    }
    json["series"].push_back(Json::object({{"name", series.name},
                                           {"origin", origin_name(series.origin)},
                                           {"group", series.group},
                                           {"dashed", series.dashed},
                                           {"points", std::move(points)}}));
  }
  return json;
}

}  // namespace trainyard::report
