#include "ui/saved_view.h"

#include <utility>
#include <vector>

#include "base/base64.h"
#include "base/error.h"
#include "report/document.h"
#include "report/html.h"

namespace trainyard::ui {
namespace {

constexpr size_t kMostBlocks = 1000;
constexpr std::string_view kPngBegins = "\x89PNG";
constexpr size_t kPngHead = 24;  // up to width and height

std::string text_in(const Json& object, std::string_view name) {
  const Json* text = object.find(name);
  return text == nullptr ? std::string() : text->as_string();
}

bool flag_in(const Json& object, std::string_view name) {
  const Json* flag = object.find(name);
  return flag != nullptr && flag->as_bool();
}

report::Table table_of(const Json& table) {
  std::vector<report::Column> columns;
  for (const Json& column : table.at("columns").items()) {
    columns.push_back(
        {.name = text_in(column, "name"),
         .align = flag_in(column, "number") ? report::Align::kRight : report::Align::kLeft});
  }
  report::Table made(columns);
  for (const Json& row : table.at("rows").items()) {
    TY_REQUIRE(row.items().size() == columns.size(), "a row of {} cells in a table of {} columns",
               row.items().size(), columns.size());
    std::vector<report::Cell> cells;
    for (const Json& cell : row.items()) cells.emplace_back(cell.as_string());
    made.add_row(std::move(cells));
  }
  return made;
}

report::Axis axis_of(const Json& axis) {
  return {.name = text_in(axis, "name"), .log = flag_in(axis, "log")};
}

report::Series series_of(const Json& series) {
  const std::string origin = text_in(series, "origin");
  report::Series made{.name = text_in(series, "name"),
                      .origin = report::origin_from_name(origin.empty() ? "measured" : origin),
                      .points = {}};
  for (const Json& point : series.at("points").items()) {
    const Json::Array& numbers = point.items();
    TY_REQUIRE(numbers.size() == 2, "a point of {} numbers, expected 2", numbers.size());
    if (!numbers[0].is_number() || !numbers[1].is_number()) continue;
    made.points.push_back({.x = numbers[0].as_number(), .y = numbers[1].as_number()});
  }
  return made;
}

report::Chart chart_of(const Json& chart) {
  const std::string kind = text_in(chart, "kind");
  TY_REQUIRE(kind == "line" || kind == "scatter", "a chart of kind '{}', expected line or scatter",
             kind);
  report::Chart made{.kind = report::chart_kind_from_name(kind),
                     .title = text_in(chart, "title"),
                     .x = axis_of(chart.at("x")),
                     .y = axis_of(chart.at("y")),
                     .caption = text_in(chart, "caption")};
  for (const Json& series : chart.at("series").items()) {
    report::Series line = series_of(series);
    if (!line.points.empty()) made.series.push_back(std::move(line));
  }
  return made;
}

report::Picture picture_of(const Json& picture) {
  report::Picture made{.png = from_base64(picture.at("png").as_string()),
                       .caption = text_in(picture, "caption")};
  TY_REQUIRE(made.png.starts_with(kPngBegins) && made.png.size() >= kPngHead,
             "a picture that is no PNG file");
  return made;
}

report::Block block_of(const Json& block) {
  TY_REQUIRE(block.members().size() == 1, "a block with {} names, expected one",
             block.members().size());
  const auto& [kind, content] = block.members()[0];
  if (kind == "heading") return report::Heading{content.as_string()};
  if (kind == "text") return report::Paragraph{content.as_string()};
  if (kind == "code") return report::Paragraph{content.as_string(), report::Tone::kCode};
  if (kind == "table") return table_of(content);
  if (kind == "chart") return chart_of(content);
  if (kind == "picture") return picture_of(content);
  throw_error("there is no block '{}'; expected heading, text, code, table, chart or picture",
              kind);
}

}  // namespace

std::string saved_view(const Json& view) {
  report::Document document;
  document.title = text_in(view, "title");
  document.lead = text_in(view, "lead");
  const Json::Array& blocks = view.at("blocks").items();
  TY_REQUIRE(blocks.size() <= kMostBlocks, "{} blocks, expected at most {}", blocks.size(),
             kMostBlocks);
  for (const Json& block : blocks) {
    report::Block made = block_of(block);
    // A chart without a point is none.
    const auto* chart = std::get_if<report::Chart>(&made);
    if (chart == nullptr || !chart->series.empty()) document.blocks.push_back(std::move(made));
  }
  return report::html_page(document, "trainyard ui");
}

}  // namespace trainyard::ui
