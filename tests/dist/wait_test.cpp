#include "dist/wait.h"

#include <gtest/gtest.h>

namespace trainyard::dist {
namespace {

// After a minute in which the whole job stood still, nobody is late.
TEST(AwakeTime, LeavesOutWhatPassedWhileTheProcessWasStopped) {
  AwakeTime awake;
  EXPECT_DOUBLE_EQ(awake.look(0.25), 0.25);
  EXPECT_DOUBLE_EQ(awake.look(0.75), 0.75);
  EXPECT_DOUBLE_EQ(awake.look(60.75), 1.75);
  EXPECT_DOUBLE_EQ(awake.look(61.25), 2.25);
}

TEST(PollUntil, EndsAfterItsSeconds) {
  const Stopwatch watch;
  EXPECT_FALSE(poll_until(
      0, [] { return false; }, Backoff(1e-3), [](double waited) { return waited < 0.3; }));
  EXPECT_GE(watch.seconds(), 0.3);
  EXPECT_TRUE(poll_until(
      1, [] { return true; }, Backoff(1e-3), [](double) { return false; }));
}

}  // namespace
}  // namespace trainyard::dist
