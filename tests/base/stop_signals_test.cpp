#include "base/stop_signals.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

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

// Which thread gets a signal is up to the system, and ranks may be threads that ask.
TEST(StopSignals, AnyThreadMayAsk) {
  const StopSignals stop;
  bool seen = false;
  // Relaxed: it orders nothing, so the thread sanitizer sees the question and the signal alone.
  std::atomic<bool> asked{false};
  std::thread asking([&] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!seen && std::chrono::steady_clock::now() < end) {
      seen = stop.requested();
      asked.store(true, std::memory_order_relaxed);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  while (!asked.load(std::memory_order_relaxed)) std::this_thread::yield();
  std::raise(SIGTERM);
  asking.join();
  EXPECT_TRUE(seen);
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
  static int seen;
  seen = 0;
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
