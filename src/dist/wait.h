// Waiting for another thread or process, up to a limit.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/relax.h"
#include "base/stopwatch.h"

namespace trainyard::dist {

// Seconds after which a wait is asked again whether it should continue.
inline constexpr double kAskEvery = 0.2;

// Seconds of a wait while this process was awake: of what passes between two looks at most a second
// counts. Who was suspended or got no processor has not waited, and blames nobody when it goes on.
class AwakeTime {
 public:
  // `now` in seconds since the wait began; to be told a few times a second.
  double look(double now) {
    constexpr double kMost = 1;
    seconds_ += std::min(now - last_, kMost);
    last_ = now;
    return seconds_;
  }

 private:
  double last_ = 0;
  double seconds_ = 0;
};

// Polls `ready` until it is true (the answer is true) or `keep_waiting(seconds so far)` is false
// (so is the answer). It spins for a moment, then calls `rest` between polls, which may take up to
// kAskEvery.
template <typename Ready, typename Rest, typename KeepWaiting>
bool poll_until(int spins, Ready&& ready, Rest&& rest, KeepWaiting&& keep_waiting) {
  for (int i = 0; i < spins; ++i) {
    if (ready()) return true;
    relax();
  }
  const Stopwatch watch;
  AwakeTime awake;
  double asked = 0;
  while (!ready()) {
    rest();
    const double waited = awake.look(watch.seconds());
    if (waited - asked < kAskEvery) continue;
    asked = waited;
    if (!keep_waiting(asked)) return false;
  }
  return true;
}

// A rest for what nobody announces: sleeps that become longer, up to ten times the first.
class Backoff {
 public:
  explicit Backoff(double first_s) : next_s_(first_s), most_s_(10 * first_s) {}

  void operator()() {
    std::this_thread::sleep_for(std::chrono::duration<double>(next_s_));
    constexpr double kGrowth = 1.2;
    next_s_ = std::min(next_s_ * kGrowth, most_s_);
  }

 private:
  double next_s_;
  double most_s_;
};

}  // namespace trainyard::dist
