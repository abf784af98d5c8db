#include "studies/scaling/core_speed_probe.h"

#include <gtest/gtest.h>

namespace trainyard::measure {
namespace {

TEST(CoreSpeedProbe, TakesAboutAsLongAsAsked) {
  CoreSpeedProbe yardstick(/*threads=*/1);
  const int64_t rounds = yardstick.rounds_in(0.05);
  const double seconds = yardstick.run(rounds);
  // The machine may change its speed in between, but not that much.
  EXPECT_GT(seconds, 0.05 / 10);
  EXPECT_LT(seconds, 0.05 * 10);
  EXPECT_EQ(yardstick.rounds_in(0), 1);
}

}  // namespace
}  // namespace trainyard::measure
