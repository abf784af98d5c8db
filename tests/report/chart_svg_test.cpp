#include <gtest/gtest.h>

#include "report/chart.h"
#include "report/document.h"

namespace trainyard::report {
namespace {

size_t count_of(const std::string& text, const std::string& piece) {
  size_t found = 0;
  for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1))
    ++found;
  return found;
}

Chart two_lines() {
  return {
      .kind = ChartKind::kLine,
      .title = "Speed <of> \"it\"",
      .x = {.name = "workers", .log = true},
      .y = {.name = "images/s"},
      .series = {{.name = "here", .origin = Origin::kMeasured, .points = {{1, 10}, {2, 19}}},
                 {.name = "there", .origin = Origin::kPredicted, .points = {{1, 12}, {4, 40}}}}};
}

TEST(ChartSvg, DrawsEveryPointAndEscapesNames) {
  const std::string svg = chart_svg(two_lines());
  EXPECT_EQ(count_of(svg, "<circle"), 4U);
  EXPECT_EQ(count_of(svg, "<path"), 2U);
  EXPECT_NE(svg.find("Speed &lt;of&gt; &quot;it&quot;"), std::string::npos);
  EXPECT_EQ(svg.find("<of>"), std::string::npos);
}

TEST(ChartSvg, TheLastLabelOfAnAxisIsNotCut) {
  Chart chart = two_lines();
  chart.x.log = false;
  chart.series[0].points = {{0, 10}, {5e6, 19}};
  const std::string svg = chart_svg(chart);
  const size_t label = svg.find(">5.00M</text>");
  ASSERT_NE(label, std::string::npos) << svg;
  const std::string mark = "<text x=\"";
  const double middle = std::stod(svg.substr(svg.rfind(mark, label) + mark.size()));
  // Five characters of 12 pixels in height are up to 37 pixels wide.
  EXPECT_LE(middle + 18.5, 720);
}

TEST(ChartSvg, SaysWhereNumbersComeFrom) {
  const std::string svg = chart_svg(two_lines());
  EXPECT_NE(svg.find("here (measured)"), std::string::npos);
  EXPECT_NE(svg.find("there (predicted)"), std::string::npos);
  EXPECT_NE(svg.find("stroke-dasharray=\"7 4\""), std::string::npos);
}

TEST(ChartSvg, PointsThatCannotBeShownAreLeftOut) {
  Chart chart = two_lines();
  chart.y.log = true;
  chart.series[0].points = {{1, 0}, {2, kAbsent}, {4, 5}};
  EXPECT_EQ(count_of(chart_svg(chart), "<circle"), 3U);
}

TEST(ChartSvg, AKindOfChartHasAMarkPerValue) {
  for (const ChartKind kind : {ChartKind::kBar, ChartKind::kStackedBar, ChartKind::kHistogram,
                               ChartKind::kHeatMap, ChartKind::kTimeline}) {
    const Chart chart{.kind = kind,
                      .title = "t",
                      .x = {.name = "x", .categories = {"a", "b"}},
                      .y = {.name = "y", .categories = {"c", "d"}},
                      .series = {{.name = "", .points = {{0, 0, 1, 2, 3}, {1, 1, 2, 4, 5}}}}};
    // One of the rectangles is the background.
    const size_t marks = count_of(chart_svg(chart), "<rect") - 1;
    EXPECT_EQ(marks, 2U) << chart_kind_name(kind);
  }
}

// XML knows no element with the same attribute twice.
TEST(ChartSvg, PredictedSpansHaveOneOutline) {
  const Chart chart{
      .kind = ChartKind::kTimeline,
      .title = "t",
      .x = {.name = "s"},
      .y = {.name = "", .categories = {"a"}},
      .series = {{.name = "p", .origin = Origin::kPredicted, .points = {{0, 0, 1, 2}}},
                 {.name = "m", .origin = Origin::kMeasured, .points = {{0, 0, 2, 3}}}}};
  const std::string svg = chart_svg(chart);
  size_t spans = 0;
  for (size_t at = svg.find("<rect"); at != std::string::npos; at = svg.find("<rect", at + 1)) {
    const size_t strokes = count_of(svg.substr(at, svg.find('>', at) - at), " stroke=");
    EXPECT_LE(strokes, 1U);
    spans += strokes;
  }
  EXPECT_EQ(spans, 3U);  // and one in the legend
}

TEST(ChartSvg, LongNamesAreCutBetweenCharacters) {
  Chart chart = two_lines();
  chart.title.clear();
  for (int i = 0; i < 120; ++i) chart.title += "é";
  std::string kept;
  for (int i = 0; i < 99; ++i) kept += "é";
  EXPECT_NE(chart_svg(chart).find(">" + kept + "…<"), std::string::npos);
  chart.title = kept + "é";
  EXPECT_NE(chart_svg(chart).find(">" + kept + "é<"), std::string::npos);
}

TEST(Bundle, HasDataBlocksAndPage) {
  Document document;
  document.title = "A title";
  document.blocks.emplace_back(Heading{"First"});
  Table table({{"name"}, {"number"}});
  table.add_row({"one", "1"});
  document.blocks.emplace_back(table);
  document.blocks.emplace_back(two_lines());
  document.data = Json::object({{"answer", 42}});
  const Json bundle = Json::parse(render(document, Format::kBundle), "bundle");
  EXPECT_EQ(bundle.at("title").as_string(), "A title");
  EXPECT_EQ(bundle.at("data").at("answer").as_int(), 42);
  ASSERT_EQ(bundle.at("blocks").items().size(), 3U);
  const auto& blocks = bundle.at("blocks").items();
  EXPECT_EQ(blocks[0].at("kind").as_string(), "heading");
  EXPECT_NE(blocks[1].at("html").as_string().find("<table"), std::string::npos);
  EXPECT_NE(blocks[2].at("svg").as_string().find("<svg"), std::string::npos);
  EXPECT_NE(bundle.at("page").as_string().find("<!doctype html>"), std::string::npos);
}

TEST(Bundle, ListsAreListsAndMarkedWordsAreMarked) {
  Document document;
  document.blocks.emplace_back(Paragraph{"- one\n- two, which\ngoes on"});
  document.blocks.emplace_back(Paragraph{"the flag `--this` is **needed**"});
  const Json whole = bundle(document, "");
  EXPECT_EQ(whole.at("blocks").items()[0].at("html").as_string(),
            "<ul>\n<li>one</li>\n<li>two, which goes on</li>\n</ul>\n");
  EXPECT_EQ(whole.at("blocks").items()[1].at("html").as_string(),
            "<p>the flag <code>--this</code> is <strong>needed</strong></p>\n");
}

}  // namespace
}  // namespace trainyard::report
