#include <gtest/gtest.h>

#include "studies/scaling/view.h"

namespace trainyard::report {
namespace {

measure::ScalePoint point(int64_t workers, int64_t batch, double step_s, double independent_s) {
  measure::ScalePoint p;
  p.workers = workers;
  p.batch = batch;
  p.steps = 5;
  p.step_s = step_s;
  p.median_s = step_s;
  p.alone_s = 0.1;
  p.independent_s = independent_s;
  p.slowest_s = independent_s;
  p.together_s = step_s;
  p.cores_alone_s = 0.09;
  p.cores_slowest_s = 0.1;
  p.gradient_bytes = 4000;
  return p;
}

TEST(ScaleDocument, HoldsEveryTable) {
  ScaleReport report;
  report.model = "lenet5";
  report.data = "synthetic";
  report.points = {point(1, 32, 0.1, 0), point(1, 64, 0.2, 0), point(2, 32, 0.125, 0.11),
                   point(2, 64, 0.22, 0.21)};
  report.settings = {.images = 640, .epochs = 2, .usd_per_hour = 1};
  report.predictions = {{2, 32, 0.15}, {4, 32, 0.2}};
  report.prediction_note = "By a test.";
  report.largest = LargestBatch{1000, 7, 900, 950};
  const Document document = scale_document(report);
  const Json& data = document.data;
  EXPECT_EQ(data.at("weak").items().size(), 4U);
  // 32 images in all leave 16 for each of two, which nobody measured.
  EXPECT_EQ(data.at("strong").items().size(), 2U);
  EXPECT_EQ(data.at("losses").items().size(), 2U);
  EXPECT_DOUBLE_EQ(data.at("losses").items()[0].at("efficiency").as_number(), 0.8);
  EXPECT_DOUBLE_EQ(data.at("losses").items()[0].at("limit").as_number(), 0.9);
  // Only what was measured has an error.
  ASSERT_EQ(data.at("predictions").items().size(), 1U);
  EXPECT_NEAR(data.at("predictions").items()[0].at("error").as_number(), 0.2, 1e-12);
  EXPECT_EQ(data.at("largest_batch").at("batch").as_int(), 7);
  const std::string text = render(document, Format::kText);
  for (const char* part :
       {"Weak scaling", "Strong scaling", "Computation", "efficiency", "which fits"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST(ScaleDocument, PointsSurviveJson) {
  const measure::ScalePoint before = point(2, 32, 0.125, 0.11);
  EXPECT_EQ(scale_point_json(scale_point_from_json(scale_point_json(before))).dump(),
            scale_point_json(before).dump());
}

}  // namespace
}  // namespace trainyard::report
