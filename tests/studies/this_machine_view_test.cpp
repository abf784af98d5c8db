// Predictions for this machine beside what ran on it.
#include "studies/calibration/this_machine_view.h"

#include <vector>

#include <gtest/gtest.h>

namespace trainyard::report {
namespace {

TEST(ThisMachine, ErrorsAreOfTheMedianAndAveragedByMode) {
  predict::Device device;
  device.name = "two cores";
  device.source = "measured today";
  const std::vector<measure::MachineRow> rows = {
      {.network = "a", .batch = 1, .measured = 100, .best = 120, .predicted = 110},
      {.network = "a", .batch = 8, .measured = 200, .best = 210, .predicted = 140},
      {.network = "a", .training = true, .batch = 8, .measured = 50, .best = 50, .predicted = 55}};
  const Document document = this_machine_document(device, rows);
  EXPECT_NEAR(document.data.at("mape_inference").as_number(), 0.2, 1e-12);
  EXPECT_NEAR(document.data.at("mape_training").as_number(), 0.1, 1e-12);
  EXPECT_NEAR(document.data.at("mape").as_number(), 0.5 / 3, 1e-12);
  const Json& first = document.data.at("rows").items()[0];
  EXPECT_EQ(first.at("mode").as_string(), "inference");
  EXPECT_EQ(first.at("fastest_images_per_s").as_number(), 120);
  const std::string text = render(document, Format::kText);
  EXPECT_NE(text.find("This machine: two cores"), std::string::npos);
  EXPECT_NE(text.find("-30.0 %"), std::string::npos) << text;
}

}  // namespace
}  // namespace trainyard::report
