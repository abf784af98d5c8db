// Writes a page with every element that reports have, for the tests in a browser.
#include <cmath>
#include <string>
#include <utility>

#include "base/file.h"
#include "data/image.h"
#include "report/document.h"

namespace {

using trainyard::report::Align;
using trainyard::report::Best;
using trainyard::report::Chart;
using trainyard::report::ChartKind;
using trainyard::report::Document;
using trainyard::report::Origin;

Chart lines() {
  return {
      .kind = ChartKind::kLine,
      .title = "Line, with error bars",
      .x = {.name = "workers", .log = true},
      .y = {.name = "images/s"},
      .series = {{"measured",
                  Origin::kMeasured,
                  {{1, 100, 92, 108}, {2, 190, 170, 205}, {4, 350, 320, 377}, {8, 610, 540, 640}},
                  "a"},
                 {"predicted", Origin::kPredicted, {{1, 104}, {2, 201}, {4, 380}, {8, 690}}, "a"},
                 // A name that must stay one.
                 {"<!--<script>document.title='owned'</script>",
                  Origin::kPublished,
                  {{1, 90}, {8, 580}}},
                 {"ideal", Origin::kIdeal, {{1, 100}, {8, 800}}}},
      .caption = "Four kinds of numbers in one chart."};
}

// Stacked bars have the series in the other order: their colors must not depend on it.
Chart bars(ChartKind kind, const std::string& title) {
  Chart chart{.kind = kind,
              .title = title,
              .x = {.name = "network", .categories = {"lenet5", "resnet18", "vgg16"}},
              .y = {.name = "ms"},
              .series = {{"forward", Origin::kMeasured, {{0, 1}, {1, 12}, {2, 40}}},
                         {"backward", Origin::kPredicted, {{0, 2}, {1, 25}, {2, 85}}}}};
  if (kind == ChartKind::kStackedBar) std::swap(chart.series[0], chart.series[1]);
  return chart;
}

Chart powers() {
  return {.kind = ChartKind::kBar,
          .title = "Bars on a logarithmic axis",
          .x = {.name = "algorithm", .categories = {"one", "ten", "hundred"}},
          .y = {.name = "x", .log = true},
          .series = {{"ratio", Origin::kMeasured, {{0, 1}, {1, 10}, {2, 100}}}}};
}

Chart scatter() {
  Chart chart{.kind = ChartKind::kScatter,
              .title = "Scatter on logarithmic axes",
              .x = {.name = "measured", .log = true},
              .y = {.name = "predicted", .log = true}};
  chart.series = {{"networks", Origin::kMeasured, {}}, {"exact", Origin::kIdeal, {}}};
  for (int i = 0; i < 12; ++i) {
    const double x = std::pow(2.0, i);
    chart.series[0].points.push_back({.x = x, .y = x * (i % 2 == 0 ? 1.2 : 0.8), .label = "net"});
  }
  // Points that are close together, with names longer than what lies between them.
  for (int i = 0; i < 6; ++i) {
    const double x = 40 * std::pow(1.3, i);
    chart.series[0].points.push_back({.x = x, .y = 50, .label = "network-with-a-long-name"});
  }
  chart.series[1].points = {{1, 1}, {2048, 2048}};
  return chart;
}

// As many names as an all-reduce has algorithms, one of them wider than a narrow screen.
Chart many_names() {
  Chart chart{.kind = ChartKind::kScatter,
              .title = "Scatter with many names",
              .x = {.name = "measured, ms", .log = true},
              .y = {.name = "predicted, ms", .log = true}};
  double x = 1;
  for (const char* name :
       {"auto", "butterfly", "hierarchical", "mpi", "reduce-broadcast", "ring", "shared",
        "a tree over workers of which one is four times slower than the others"}) {
    chart.series.push_back(
        {name + std::string(", measured"), Origin::kMeasured, {{.x = x, .y = x}}});
    x *= 2;
  }
  chart.series.push_back({"exact", Origin::kIdeal, {{.x = 1, .y = 1}, {.x = x, .y = x}}});
  return chart;
}

Chart histogram() {
  Chart chart{.kind = ChartKind::kHistogram,
              .title = "Histogram",
              .x = {.name = "weight"},
              .y = {.name = "count"},
              .series = {{"conv1", Origin::kPlain, {}}}};
  for (int i = -10; i < 10; ++i) {
    const double low = 0.1 * i;
    chart.series[0].points.push_back(
        {.y = std::round(1000 * std::exp(-8 * low * low)), .low = low, .high = low + 0.1});
  }
  return chart;
}

Chart heat_map() {
  Chart chart{.kind = ChartKind::kHeatMap,
              .title = "Heat map",
              .x = {.name = "bytes", .categories = {"1 KiB", "64 KiB", "4 MiB"}},
              .y = {.name = "algorithm", .categories = {"ring", "tree", "shared"}},
              .series = {{"", Origin::kMeasured, {}}}};
  for (int x = 0; x < 3; ++x) {
    for (int y = 0; y < 3; ++y) {
      chart.series[0].points.push_back(
          {.x = double(x), .y = double(y), .value = std::pow(3.0, x) + y});
    }
  }
  return chart;
}

Chart timeline() {
  return {.kind = ChartKind::kTimeline,
          .title = "Timeline",
          .x = {.name = "s"},
          .y = {.name = "learner", .categories = {"learner 1", "learner 2"}},
          .series = {{"fresh", Origin::kPlain, {{.y = 0, .low = 0, .high = 1, .label = "0"}}},
                     {"stale", Origin::kPlain, {{.y = 1, .low = 0, .high = 2.5, .label = "2"}}}}};
}

trainyard::report::Picture picture() {
  trainyard::data::Image image{.height = 96, .width = 160, .pixels = {}};
  for (int64_t i = 0; i < image.height * image.width; ++i) {
    const auto shade = static_cast<uint8_t>(i / image.width * 2 + 40);
    image.pixels.insert(image.pixels.end(), {shade, 120, static_cast<uint8_t>(200 - shade)});
  }
  return {
      trainyard::data::encode_png(image), "A picture with a box", {{40, 20, 60, 50, "box 0.98"}}};
}

trainyard::report::Listing listing() {
  return {"Two files, one color for a field",
          {{"a.json", {{"{"}, {"  \"nodes\": 2,", "nodes"}, {"}"}}},
           {"b.yaml", {{"nodes: 2", "nodes"}, {"text: " + std::string(200, 'x'), "text"}}}}};
}

}  // namespace

int main(int, char** arguments) {
  Document document;
  document.title = "Every element of a report";
  document.lead = "Made for tests in a browser; the numbers mean nothing.";
  trainyard::report::Table table(
      {{"network", Align::kLeft}, {"parameters"}, {"ms", Align::kRight, 0, "", Best::kLowest}});
  for (const auto& [name, count, ms] : {std::tuple{"vgg16", 138357544, 63.1},
                                        {"resnet50", 25557032, 45.2},
                                        {"lenet5", 61706, 0.2},
                                        {"mlp", 109386, 0.3}}) {
    table.add_row(
        {name, trainyard::report::count_cell(count), trainyard::report::fixed_cell(ms, 1)});
  }
  using trainyard::report::Block;
  for (Block& block : std::vector<Block>{
           trainyard::report::Heading{"Words and tables"},
           trainyard::report::Paragraph{"Text with `code` and **strong** words."},
           trainyard::report::Paragraph{"- one item"},
           trainyard::report::Paragraph{"- another"},
           trainyard::report::Paragraph{"The answer stands out.", trainyard::report::Tone::kAnswer},
           table,
           trainyard::report::Heading{"Charts"},
           lines(),
           bars(ChartKind::kBar, "Bars, measured and predicted"),
           bars(ChartKind::kStackedBar, "Stacked bars"),
           powers(),
           scatter(),
           many_names(),
           histogram(),
           heat_map(),
           timeline(),
           trainyard::report::Heading{"Pictures"},
           picture(),
           trainyard::report::Heading{"Listings"},
           listing()}) {
    document.blocks.push_back(std::move(block));
  }
  trainyard::report::Format format = trainyard::report::Format::kHtml;
  format.command = "report_page FILE";
  trainyard::write_file(arguments[1], trainyard::report::render(document, format));
}
