#include "train/loss_scale.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard::train {
namespace {

TEST(LossScale, HalvesAtAnOverflowAndDoublesAfterManyUpdates) {
  LossScale scale;
  const double begin = scale.factor;
  for (int i = 0; i < 1999; ++i) scale.follow(true);
  EXPECT_EQ(scale.factor, begin);
  scale.follow(true);
  EXPECT_EQ(scale.factor, 2 * begin);
  EXPECT_EQ(scale.updates, 0);
  for (int i = 0; i < 100; ++i) scale.follow(true);
  scale.follow(false);
  EXPECT_EQ(scale.factor, begin);
  EXPECT_EQ(scale.updates, 0);
}

// A factor below 1 would hide that the network itself leaves the range.
TEST(LossScale, EndsWhereNoFactorHelps) {
  LossScale scale{.factor = 2};
  scale.follow(false);
  EXPECT_THROW(scale.follow(false), Failure);
}

}  // namespace
}  // namespace trainyard::train
