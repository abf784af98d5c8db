#include <cmath>

#include <gtest/gtest.h>

#include "report/document.h"

namespace trainyard::report {
namespace {

Document long_document(size_t points, size_t rows) {
  Document document;
  Chart chart;
  Series series;
  for (size_t i = 0; i < points; ++i) {
    const auto x = static_cast<double>(i);
    series.points.push_back({.x = x, .y = std::sin(x)});
  }
  if (points > 5000) series.points[4321].y = 50;
  chart.series.push_back(std::move(series));
  document.blocks.emplace_back(std::move(chart));
  Table table({{.name = "i", .best = Best::kHighest}});
  for (size_t i = 0; i < rows; ++i) table.add_row({count_cell(static_cast<int64_t>(i))});
  document.blocks.emplace_back(std::move(table));
  return document;
}

TEST(Brief, LeavesShortDocumentsAlone) {
  EXPECT_FALSE(brief(long_document(120, 120)));
  EXPECT_TRUE(bundle(long_document(120, 120), "").at("cell").is_null());
}

TEST(Brief, KeepsTheEndsAndTheExtremesOfALongSeries) {
  const Document shorter = brief(long_document(10'000, 10)).value();
  const auto& chart = std::get<Chart>(shorter.blocks[0]);
  const std::vector<ChartPoint>& points = chart.series[0].points;
  EXPECT_LE(points.size(), 120U);
  EXPECT_EQ(points.front().x, 0);
  EXPECT_EQ(points.back().x, 9999);
  double highest = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    highest = std::max(highest, points[i].y);
    if (i == 0) continue;
    EXPECT_LT(points[i - 1].x, points[i].x);
  }
  EXPECT_EQ(highest, 50);
  EXPECT_NE(chart.caption.find("10,000"), std::string::npos);
}

TEST(Brief, KeepsTheEndsOfALongTableAndMarksNoBest) {
  const Document shorter = brief(long_document(10, 1000)).value();
  ASSERT_EQ(shorter.blocks.size(), 3U);
  const std::string text = std::get<Table>(shorter.blocks[1]).to_markdown();
  EXPECT_NE(text.find("| 49 |"), std::string::npos) << text;
  EXPECT_EQ(text.find("| 50 |"), std::string::npos);
  EXPECT_NE(text.find("| 999 |"), std::string::npos) << text;
  EXPECT_NE(std::get<Paragraph>(shorter.blocks[2]).text.find("1,000 rows"), std::string::npos);
}

TEST(Brief, HeatMapsOfACellAreDrawnWithoutAScript) {
  Document document;
  Chart chart{.kind = ChartKind::kHeatMap,
              .title = "who is taken for whom",
              .x = {.name = "guessed", .categories = {"cat", "dog"}},
              .y = {.name = "is", .categories = {"cat", "dog"}},
              .series = {{.name = "",
                          .points = {{.x = 0, .y = 0, .value = 1}, {.x = 1, .y = 1, .value = 2}}}}};
  document.blocks.emplace_back(std::move(chart));
  const Json whole = bundle(document, "");
  const std::string cell = whole.at("cell").as_string();
  EXPECT_NE(cell.find("<svg"), std::string::npos);
  EXPECT_EQ(cell.find("data-chart="), std::string::npos);
  EXPECT_NE(whole.at("page").as_string().find("data-chart="), std::string::npos);
}

TEST(Brief, PagesAndDataStayWhole) {
  const Json whole = bundle(long_document(10'000, 1000), "");
  EXPECT_GT(whole.at("page").as_string().size(), whole.at("cell").as_string().size() + 100'000);
  EXPECT_EQ(whole.at("blocks").items().size(), 3U);
}

}  // namespace
}  // namespace trainyard::report
