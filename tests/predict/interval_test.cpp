#include "predict/interval.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "predict/catalog.h"

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
  const Stack& stack = catalog.default_stack(device, Precision::kFp16);
  EXPECT_GT(stack.all_rows(), 0);
  EXPECT_NE(support_of(stack, device, "resnet50"), Support::kRelatives);
  EXPECT_EQ(support_of(Stack{}, device, "resnet50"), Support::kRelatives);
}

TEST(Catalog, NoDeviceWithRowsHasAStackWithout) {
  const Catalog catalog = Catalog::built_in();
  for (const Device& device : catalog.devices()) {
    for (const Precision precision : {Precision::kFp32, Precision::kFp16}) {
      EXPECT_GT(catalog.default_stack(device, precision).all_rows(), 0) << device.id;
    }
  }
}

}  // namespace
}  // namespace trainyard::predict
