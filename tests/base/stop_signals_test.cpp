#include "base/stop_signals.h"

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard {
namespace {

TEST(StopSignals, TheFirstSignalIsAWish) {
  for (const int number : {SIGINT, SIGTERM}) {
    const StopSignals stop;
    EXPECT_FALSE(stop.requested());
    std::raise(number);
    EXPECT_TRUE(stop.requested());
  }
}

TEST(StopSignals, TheSecondEndsTheProcess) {
  const auto twice = [](int first, int second) {
    const StopSignals stop;
    std::raise(first);
    std::raise(second);
    std::exit(0);
  };
  EXPECT_EXIT(twice(SIGINT, SIGINT), testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(twice(SIGINT, SIGTERM), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(twice(SIGUSR1, SIGINT), testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(twice(SIGUSR1, SIGUSR1), testing::ExitedWithCode(0), "");
}

TEST(StopSignals, HandlersOfBeforeComeBack) {
  static int seen = 0;
  const auto old = std::signal(SIGTERM, [](int) { ++seen; });
  {
    const StopSignals stop;
    EXPECT_THROW(StopSignals(), InternalError);
    std::raise(SIGTERM);
  }
  EXPECT_EQ(seen, 0);
  std::raise(SIGTERM);
  EXPECT_EQ(seen, 1);
  std::signal(SIGTERM, old);
}

}  // namespace
}  // namespace trainyard
