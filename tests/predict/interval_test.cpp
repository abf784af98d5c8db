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
