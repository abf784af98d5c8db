// The report of a lab: blocks of the file, filled in with the data.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "lab/query.h"
#include "lab/run_lab.h"

namespace trainyard::lab {
namespace {

using report::Align;
using report::Best;

struct Context {
  const Json& data;
};

// Line breaks of the file are not those of the report.
std::string filled(const YamlView& view, const Context& context) {
  std::string out;
  for (const char c : fill_in(view.text(), context.data, view.where())) {
    const bool space = c == ' ' || c == '\n';
    if (space && (out.empty() || out.back() == ' ')) continue;
    out += space ? ' ' : c;
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

Json asked(const YamlView& view, const Context& context) {
  return Query(view.text(), view.where()).one(context.data);
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.as_string();
  return value.is_null() ? "-" : value.dump(-1);
}

// "count", "fixed 2", "percent 1", "si", "bytes", "seconds", "money" or "text".
report::Cell cell_of(const Json& value, const std::string& format, const YamlView& view) {
  if (format == "text" || !value.is_number()) return text_of(value);
  const double number = value.as_number();
  const std::vector<std::string> words = split(format, ' ');
  const int digits = words.size() > 1 ? words[1][0] - '0' : 1;
  if (words[0] == "count") return report::count_cell(std::llround(number));
  if (words[0] == "fixed") return report::fixed_cell(number, digits);
  if (words[0] == "percent") return report::percent_cell(number, digits);
  if (words[0] == "si") return report::si_cell(number);
  if (words[0] == "bytes") return report::bytes_cell(std::llround(number));
  if (words[0] == "seconds") return report::seconds_cell(number);
  if (words[0] == "money") return {fmt::format("${:.2f}", number), fmt::format("{}", number)};
  view.fail(
      fmt::format("there is no format '{}', only count, fixed N, percent N, si, bytes, "
                  "seconds, money and text",
                  format));
}

Best best_of(const YamlView& column) {
  const std::string best = column.text_or("best", "");
  if (best == "lowest") return Best::kLowest;
  if (best == "highest") return Best::kHighest;
  if (!best.empty()) column.fail("'best' is neither lowest nor highest");
  return Best::kNone;
}

report::Table table_of(const YamlView& view, const Context& context) {
  view.only({"rows", "columns"});
  std::vector<report::Column> columns;
  std::vector<std::string> keys;
  std::vector<std::string> formats;
  for (const YamlView& column : view.at("columns").items()) {
    column.only({"key", "name", "format", "best"});
    keys.push_back(column.at("key").text());
    formats.push_back(column.text_or("format", "text"));
    const bool text = formats.back() == "text";
    columns.push_back({column.text_or("name", keys.back()), text ? Align::kLeft : Align::kRight, 0,
                       keys.back(), best_of(column)});
  }
  report::Table table(std::move(columns));
  const YamlView rows = view.at("rows");
  const Json result = asked(rows, context);
  if (!result.is_array()) rows.fail("expected a query that gives an array of objects");
  for (const Json& row : result.items()) {
    if (row.is_null()) {
      table.add_rule();
      continue;
    }
    std::vector<report::Cell> cells;
    for (size_t c = 0; c < keys.size(); ++c) {
      const Json* value = row.find(keys[c]);
      cells.push_back(cell_of(value != nullptr ? *value : Json(), formats[c], view));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

// The place of a category, added if it is new; numbers are as they are.
double place_of(const Json& value, report::Axis& axis) {
  if (value.is_number()) return value.as_number();
  if (value.is_null()) return report::kAbsent;
  const std::string& name = value.as_string();
  const auto found = std::find(axis.categories.begin(), axis.categories.end(), name);
  if (found != axis.categories.end()) {
    return static_cast<double>(found - axis.categories.begin());
  }
  axis.categories.push_back(name);
  return static_cast<double>(axis.categories.size() - 1);
}

report::ChartPoint point_of(const Json& json, report::Chart& chart, const YamlView& view) {
  report::ChartPoint point;
  const auto number = [](const Json* value) {
    return value != nullptr && value->is_number() ? value->as_number() : report::kAbsent;
  };
  if (json.is_array()) {
    const Json::Array& items = json.items();
    if (items.size() != 2 && items.size() != 4) view.fail("a point is [x, y] or [x, y, low, high]");
    point.x = place_of(items[0], chart.x);
    point.y = place_of(items[1], chart.y);
    if (items.size() == 4) {
      point.low = number(&items[2]);
      point.high = number(&items[3]);
    }
    return point;
  }
  if (!json.is_object()) view.fail("a point is an array or an object, not " + json.dump(-1));
  if (const Json* x = json.find("x")) point.x = place_of(*x, chart.x);
  if (const Json* y = json.find("y")) point.y = place_of(*y, chart.y);
  point.low = number(json.find("low"));
  point.high = number(json.find("high"));
  point.value = number(json.find("value"));
  if (const Json* label = json.find("label")) point.label = text_of(*label);
  return point;
}

void add_series(const Json& json, report::Chart& chart, const YamlView& view) {
  report::Series series;
  if (const Json* name = json.find("name")) series.name = text_of(*name);
  if (const Json* origin = json.find("origin")) {
    series.origin = report::origin_from_name(origin->as_string());
  }
  if (const Json* group = json.find("group")) series.group = text_of(*group);
  for (const Json& point : json.at("points").items()) {
    series.points.push_back(point_of(point, chart, view));
  }
  if (!series.points.empty()) chart.series.push_back(std::move(series));
}

report::Axis axis_of(const YamlView& view, std::string_view which) {
  report::Axis axis;
  const auto block = view.find(which);
  if (!block) return axis;
  block->only({"name", "log"});
  axis.name = block->text_or("name", "");
  if (const auto log = block->find("log")) axis.log = log->boolean();
  return axis;
}

report::Chart chart_of(const YamlView& view, const Context& context) {
  view.only({"kind", "title", "caption", "x", "y", "series"});
  report::Chart chart;
  chart.kind = report::chart_kind_from_name(view.at("kind").text());
  chart.title = filled(view.at("title"), context);
  if (const auto caption = view.find("caption")) chart.caption = filled(*caption, context);
  chart.x = axis_of(view, "x");
  chart.y = axis_of(view, "y");
  const YamlView series = view.at("series");
  if (!series.json().is_array()) {
    const Json all = asked(series, context);
    for (const Json& one : all.items()) add_series(one, chart, series);
    return chart;
  }
  for (const YamlView& one : series.items()) {
    one.only({"name", "origin", "group", "points"});
    Json json = Json::object({{"name", one.text_or("name", "")},
                              {"origin", one.text_or("origin", "plain")},
                              {"group", one.text_or("group", "")}});
    json["points"] = asked(one.at("points"), context);
    add_series(json, chart, one);
  }
  return chart;
}

report::Picture picture_of(const YamlView& view, const Context& context) {
  view.only({"file", "caption"});
  return {read_file(filled(view.at("file"), context)), filled(view.at("caption"), context)};
}

bool is_true(const Json& value) {
  return !value.is_null() && !(value.is_bool() && !value.as_bool());
}

void add_block(const YamlView& view, const Context& context, report::Document& document) {
  view.only({"heading", "text", "answer", "code", "table", "chart", "picture", "when"});
  if (const auto when = view.find("when")) {
    if (!is_true(asked(*when, context))) return;
  }
  const auto add = [&](report::Block block) { document.blocks.push_back(std::move(block)); };
  if (const auto block = view.find("heading")) add(report::Heading{filled(*block, context)});
  if (const auto block = view.find("text")) add(report::Paragraph{filled(*block, context)});
  if (const auto block = view.find("answer")) {
    add(report::Paragraph{filled(*block, context), report::Tone::kAnswer});
  }
  if (const auto block = view.find("code")) {
    add(report::Paragraph{fill_in(block->text(), context.data, block->where()),
                          report::Tone::kCode});
  }
  if (const auto block = view.find("table")) add(table_of(*block, context));
  if (const auto block = view.find("chart")) add(chart_of(*block, context));
  if (const auto block = view.find("picture")) add(picture_of(*block, context));
}

}  // namespace

report::Document lab_document(const Lab& lab, const Json& data, const std::string& command) {
  report::Document document;
  document.title = lab.title;
  document.lead = lab.question;
  while (document.lead.ends_with('\n')) document.lead.pop_back();
  const Context context{data};
  for (const YamlView& block : lab.file->root().at("report").items()) {
    add_block(block, context, document);
  }
  document.blocks.emplace_back(
      report::Provenance{command, data.at("settings"), data.at("machine")});
  document.data = data;
  return document;
}

}  // namespace trainyard::lab
