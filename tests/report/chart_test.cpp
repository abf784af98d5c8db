#include "report/chart.h"

#include <regex>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"
#include "report/document.h"
#include "report/html.h"
#include "report/table.h"
#include "support/columns.h"

namespace trainyard::report {
namespace {

Chart throughput() {
  return {.kind = ChartKind::kLine,
          .title = "Throughput",
          .x = {.name = "workers", .log = true},
          .y = {.name = "images/s"},
          .series = {{"measured", Origin::kMeasured, {{1, 100, 90, 110}, {2, 180, 170, 195}}},
                     {"predicted", Origin::kPredicted, {{1, 105}, {2, 205}, {4, 400}}}}};
}

Chart bars(ChartKind kind) {
  return {.kind = kind,
          .title = "Time",
          .x = {.name = "network", .categories = {"lenet5", "vgg16"}},
          .y = {.name = "ms"},
          .series = {{"forward", Origin::kPlain, {{0, 1}, {1, 3}}},
                     {"backward", Origin::kPlain, {{0, 2}, {1, 5}}}}};
}

size_t count(const std::string& text, const std::string& piece) {
  size_t found = 0;
  for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) {
    ++found;
  }
  return found;
}

TEST(Chart, TableHasAColumnPerSeriesAndTheEndsOfErrorBars) {
  EXPECT_EQ(chart_table(throughput()).to_csv(),
            "workers,measured,\"measured, low\",\"measured, high\",predicted\n"
            "1,100,90,110,105\n2,180,170,195,205\n4,,,,400\n");
  EXPECT_EQ(chart_table(bars(ChartKind::kBar)).to_csv(),
            "network,forward,backward\nlenet5,1,2\nvgg16,3,5\n");
}

TEST(Chart, TableHasARowPerPointWhereXRepeatsOrPointsHaveLabels) {
  Chart chart = throughput();
  chart.series = {{"a", Origin::kPlain, {{1, 2}, {1, 3}}}};
  EXPECT_EQ(chart_table(chart).to_csv(), "series,workers,images/s,label\na,1,2,\na,1,3,\n");
  chart.series = {{"a", Origin::kPlain, {{.x = 1, .y = 2, .label = "vgg16"}}}};
  EXPECT_EQ(chart_table(chart).to_csv(), "series,workers,images/s,label\na,1,2,vgg16\n");
}

TEST(Chart, TextMarksEveryPointOfALine) {
  const std::string text = chart_text(throughput());
  // One of each is in the legend, and the first points of the two series lie in one cell.
  EXPECT_EQ(count(text, "●") + count(text, "○"), 2U + 4U) << text;
  EXPECT_NE(text.find("400 ┤"), std::string::npos) << text;
  EXPECT_NE(text.find("measured   ○ predicted"), std::string::npos) << text;
}

TEST(Chart, LogarithmicAxesHaveRoundTicks) {
  Chart chart = throughput();
  chart.y.log = true;
  std::string text = chart_text(chart);
  for (const char* tick : {"  500 ┤", "  200 ┤", "  100 ┤"}) {
    EXPECT_NE(text.find(tick), std::string::npos) << text;
  }
  EXPECT_TRUE(std::regex_search(text, std::regex("\\n +1 +2 +5  workers\\n"))) << text;
  // Many decades: powers of ten alone, and not all of them.
  chart.series = {{"", Origin::kPlain, {{1, 3e-5}, {1000, 7e6}}}};
  text = chart_text(chart);
  EXPECT_EQ(count(text, "┤"), 7U) << text;
  EXPECT_NE(text.find("  0.001 ┤"), std::string::npos) << text;
  EXPECT_NE(text.find("     10 ┤"), std::string::npos) << text;
  // Less than a factor of two apart.
  chart.series = {{"", Origin::kPlain, {{1, 1.13}, {2, 1.21}}}};
  text = chart_text(chart);
  EXPECT_NE(text.find("   1.12 ┤"), std::string::npos) << text;
}

TEST(Chart, TextBarsAreAsLongAsTheirShare) {
  const std::string text = chart_text(bars(ChartKind::kBar));
  EXPECT_EQ(count(text, "█"), 10U + 20 + 30 + 50) << text;
  const std::string stacked = chart_text(bars(ChartKind::kStackedBar));
  EXPECT_EQ(count(stacked, "▓"), 13U + 31 + 1) << stacked;  // 2/8 and 5/8 of 50, and the legend
}

TEST(Chart, TextOfTheOtherKinds) {
  Chart map = {.kind = ChartKind::kHeatMap,
               .title = "Best",
               .x = {.name = "bytes", .categories = {"1K", "1M"}},
               .y = {.name = "algorithm", .categories = {"ring", "tree"}},
               .series = {{"", Origin::kPlain, {{.x = 0, .y = 1, .value = 2.5}}}}};
  EXPECT_NE(chart_text(map).find("tree   █2.5"), std::string::npos) << chart_text(map);
  Chart time = {.kind = ChartKind::kTimeline,
                .title = "Learners",
                .x = {.name = "s"},
                .y = {.name = "learner", .categories = {"one"}},
                .series = {{"busy",
                            Origin::kPlain,
                            {{.y = 0, .low = 0, .high = 1, .label = "3"},
                             {.y = 0, .low = 1, .high = 2, .label = "4"}}}}};
  const std::string lanes = chart_text(time);
  EXPECT_NE(lanes.find('3'), std::string::npos) << lanes;
  EXPECT_NE(lanes.find('4'), std::string::npos) << lanes;
  Chart histogram = {.kind = ChartKind::kHistogram,
                     .title = "Weights",
                     .x = {},
                     .y = {},
                     .series = {{"", Origin::kPlain, {{.y = 10, .low = 0, .high = 0.5}}}}};
  EXPECT_NE(chart_text(histogram).find("0 … 0.5"), std::string::npos) << chart_text(histogram);
  Chart empty = {.kind = ChartKind::kLine,
                 .title = "Nothing",
                 .x = {},
                 .y = {},
                 .series = {{"a", Origin::kPlain, {}}}};
  EXPECT_EQ(chart_text(empty), "Nothing\n(no data)\n");
}

TEST(Chart, NamesAreCheckedWithTheNearest) {
  EXPECT_EQ(chart_kind_name(chart_kind_from_name("heat-map")), "heat-map");
  EXPECT_EQ(origin_name(origin_from_name("predicted")), "predicted");
  EXPECT_THROW(chart_kind_from_name("pie"), Error);
  EXPECT_THROW(origin_from_name("guessed"), Error);
}

TEST(Table, MarksTheBestNumberOfAColumn) {
  Table table({{"network", Align::kLeft}, {"ms", Align::kRight, 0, "", Best::kLowest}});
  table.add_row({"a", fixed_cell(12.25, 1)});
  table.add_row({"b", fixed_cell(3.5, 1)});
  table.add_rule();
  table.add_row({"c", "-"});
  EXPECT_NE(table.to_text().find("b        *3.5"), std::string::npos) << table.to_text();
  EXPECT_NE(table.to_markdown().find("| **3.5** |"), std::string::npos);
  EXPECT_NE(table.to_html("").find("<td class=\"r best\">3.5</td>"), std::string::npos)
      << table.to_html("");
  EXPECT_EQ(table.to_csv(), "network,ms\na,12.25\nb,3.5\nc,-\n");
}

TEST(Table, EqualNumbersShareTheMarkUnlessAllAreEqual) {
  Table table({{"network", Align::kLeft}, {"ms", Align::kRight, 0, "", Best::kLowest}});
  table.add_row({"a", fixed_cell(3.51, 1)});
  table.add_row({"b", fixed_cell(3.49, 1)});
  EXPECT_EQ(table.to_text().find('*'), std::string::npos) << table.to_text();
  table.add_row({"c", fixed_cell(9, 1)});
  EXPECT_NE(table.to_text().find("a        *3.5"), std::string::npos) << table.to_text();
  EXPECT_NE(table.to_text().find("b        *3.5"), std::string::npos) << table.to_text();
}

TEST(Document, FactsAreForPeople) {
  const Json facts = Json::object(
      {{"gpus", Json::parse(R"(["k80", "v100"])", "test")}, {"shape", ""}, {"memory_bytes", 1024}});
  const std::vector<std::pair<std::string, std::string>> expected = {{"gpus", "k80, v100"},
                                                                     {"memory", "1.00 KiB"}};
  EXPECT_EQ(facts_of(facts), expected);
}

// What is read of a picture: the signature and its size.
const std::string kPng("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\2\0\0\0\3", 24);

Document page() {
  Document document;
  document.title = "A <title>";
  document.blocks.emplace_back(Heading{"First"});
  document.blocks.emplace_back(Paragraph{"**Fast** with `a<b`"});
  document.blocks.emplace_back(Paragraph{"- one"});
  document.blocks.emplace_back(Paragraph{"- two"});
  document.blocks.emplace_back(Paragraph{"It is.", Tone::kAnswer});
  document.blocks.emplace_back(throughput());
  document.blocks.emplace_back(Picture{kPng, "a dot", {{0, 0, 1, 1, "dot </script>"}}});
  document.blocks.emplace_back(
      Provenance{"trainyard x", Json::object({{"batch", 32}}), Json::object({{"threads", 2}})});
  return document;
}

TEST(Html, IsOneFileWithEverythingInIt) {
  Document document = page();
  document.blocks.emplace_back(bars(ChartKind::kBar));
  std::get<Chart>(document.blocks.back()).title = "ends with </script>";
  const std::string html = render(document, Format::kHtml);
  for (const char* piece :
       {"<h1>A &lt;title&gt;</h1>", "<strong>Fast</strong> with <code>a&lt;b</code>",
        "<ul>\n<li>one</li>\n<li>two</li>\n</ul>", "<div class=\"answer\"><p>It is.</p></div>",
        "data-chart=\"1\"", "src=\"data:image/png;base64,iVBORw0KGgo", "dot &lt;/script&gt;</text>",
        "$ trainyard x", "<dt>batch</dt><dd>32</dd>", "<td class=\"r\">180</td>"}) {
    EXPECT_NE(html.find(piece), std::string::npos) << piece;
  }
  for (const char* piece : {"src=\"http", "href=\"http", "<link", "url(http", "@import"}) {
    EXPECT_EQ(html.find(piece), std::string::npos) << piece;
  }
  // The script, and the charts' data in front of it, each end once.
  EXPECT_EQ(count(html, "</script>"), web_script().empty() ? 0U : 2U);
  EXPECT_EQ(count(html, "<th scope"), 5U + 3U);
}

TEST(Html, SaysWhenItCannotDraw) {
  const std::string html = render(page(), Format::kHtml);
  EXPECT_EQ(html.find("built without Node") != std::string::npos, web_script().empty());
}

TEST(Document, TextAndMarkdownHaveEveryBlock) {
  for (const Format::Kind kind : {Format::kText, Format::kMarkdown}) {
    const std::string text = render(page(), kind);
    for (const char* piece : {"A <title>", "First", "- one\n- two\n", "It is.", "○", "a dot",
                              "Made by: trainyard x", "Settings: batch 32"}) {
      EXPECT_NE(text.find(piece), std::string::npos) << piece << "\n" << text;
    }
  }
}

// Bars, names of series and axes, and the columns of a heat map.
TEST(Chart, TextFollowsANarrowTerminal) {
  Chart heat{.kind = ChartKind::kHeatMap,
             .title = "Confusion",
             .x = {.name = "predicted", .categories = {}},
             .y = {.name = "true", .categories = {"ankle boot"}},
             .series = {{"", Origin::kPlain, {}}}};
  for (int i = 0; i < 10; ++i) {
    heat.x.categories.push_back("class " + std::to_string(i));
    ChartPoint point{static_cast<double>(i), 0};
    point.value = i;
    heat.series[0].points.push_back(point);
  }
  Chart curve = throughput();
  curve.x.name = "workers that train together";
  for (int i = 0; i < 4; ++i) curve.series.push_back({"another series", Origin::kPlain, {{1, 5}}});
  const Columns narrow(44);
  for (const Chart& chart : {heat, curve, bars(ChartKind::kBar), bars(ChartKind::kStackedBar)}) {
    const std::string text = chart_text(chart);
    for (const std::string& line : split(text, '\n')) EXPECT_LE(width_of(line), 44U) << text;
  }
  EXPECT_EQ(count(chart_text(heat), "class "), 10U);
  EXPECT_EQ(count(chart_text(curve), "another series"), 4U);
}

// Half a step and half an epoch are nothing to mark.
TEST(Chart, WholeNumbersHaveWholeMarks) {
  Chart chart = throughput();
  chart.x = {.name = "epoch"};
  chart.series = {{"loss", Origin::kMeasured, {{1, 3.5}, {2, 2.5}, {3, 1.25}}}};
  const std::string text = chart_text(chart);
  const std::string axis = text.substr(text.find("└"));
  EXPECT_EQ(axis.find('.'), std::string::npos) << text;
  for (const char* mark : {" 1", " 2", " 3"}) EXPECT_NE(axis.find(mark), std::string::npos) << text;
}

}  // namespace
}  // namespace trainyard::report
