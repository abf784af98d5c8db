#include "cluster/predict/interval.h"

#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster/predict/catalog.h"
#include "cluster/predict/step.h"
#include "models/zoo/model.h"

namespace trainyard::predict {
namespace {

TEST(Interval, LiesBetweenTheTailsAndTurnsIntoSpeeds) {
  std::vector<GroupedError> errors;
  for (int i = 0; i <= 100; ++i) errors.push_back({i / 100.0 - 0.5, i % 4});
  const Interval interval = interval_of(errors);
  EXPECT_NEAR(interval.low, -0.4, 1e-9);
  EXPECT_NEAR(interval.high, 0.4, 1e-9);
  EXPECT_NEAR(interval.least(100), 100 * std::exp(-0.4), 1e-9);
  EXPECT_NEAR(interval.most(100), 100 * std::exp(0.4), 1e-9);
  EXPECT_NEAR(static_cast<double>(covered_by_others(errors)) / 101, 0.8, 0.05);
}

TEST(Interval, AGroupUnlikeTheOthersIsNotCovered) {
  std::vector<GroupedError> errors;
  for (int i = 0; i < 50; ++i) errors.push_back({i / 100.0, 0});
  for (int i = 0; i < 50; ++i) errors.push_back({5.0 + i / 100.0, 1});
  EXPECT_EQ(covered_by_others(errors), 0);
}

TEST(Interval, WidensWithLessSupport) {
  const Catalog catalog = Catalog::built_in();
  const auto width = [&](Support support) {
    const auto found = catalog.intervals().find("gpu", Mode::kTraining, support);
    EXPECT_TRUE(found.has_value());
    return found ? found->high - found->low : 0;
  };
  EXPECT_LT(width(Support::kAll), width(Support::kStack));
  EXPECT_LE(width(Support::kAll), width(Support::kRelatives));
  const Device& device = catalog.device("h100");
  const Stack& stack = catalog.default_stack(device);
  EXPECT_GT(stack.all_rows(), 0);
  EXPECT_NE(support_of(stack, device, "resnet50"), Support::kRelatives);
  EXPECT_EQ(support_of(Stack{}, device, "resnet50"), Support::kRelatives);
}

TEST(Catalog, NoDeviceWithRowsHasAStackWithout) {
  const Catalog catalog = Catalog::built_in();
  for (const Device& device : catalog.devices()) {
    EXPECT_GT(catalog.default_stack(device).all_rows(), 0) << device.id;
  }
}

// No board runs software that was made before it, and precisions can be compared.
TEST(Catalog, TheDefaultStackIsNotOlderThanTheDevice) {
  const Catalog catalog = Catalog::built_in();
  for (const Device& device : catalog.devices()) {
    if (device.year == 0) continue;
    EXPECT_GE(catalog.default_stack(device).released, fmt::format("{}", device.year)) << device.id;
  }
}

TEST(Predict, WiderFormatsAreNotFaster) {
  const Catalog catalog = Catalog::built_in();
  const Graph graph = models::build_model("resnet50");
  const NetworkProfile profile = profile_graph(graph);
  for (const char* id : {"l4", "rtx-4090", "a100", "h100", "h100-nvl", "h200", "b200"}) {
    const Device& device = catalog.device(id);
    const Stack& stack = catalog.default_stack(device);
    // Below, mixed precision waits for the launches of its casts.
    for (const double batch : {128.0, 256.0}) {
      const auto seconds = [&](Precision precision) {
        return predict_step(profile, Roofline(device, stack, precision), batch, Mode::kTraining)
            .total();
      };
      const double single = seconds(Precision::kFp32);
      EXPECT_LT(seconds(Precision::kFp16), single) << id << " " << batch;
      // On boards whose matrix units do tf32 at no more than twice the rate of their vector units,
      // minimal filtering on the latter comes close.
      if (device.tf32 > 3 * device.fp32) {
        EXPECT_LT(seconds(Precision::kTf32), single) << id << " " << batch;
      }
    }
  }
}

}  // namespace
}  // namespace trainyard::predict
