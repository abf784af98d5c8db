// Waiting for another thread or process, up to a limit.
#pragma once

#include <algorithm>
#include <chrono>
#include <sched.h>
#include <thread>

namespace trainyard::dist {

// Polls `ready` until it is true (the answer is true) or `keep_waiting(seconds so far)`, asked a
// few times a second, is false (so is the answer). It spins for a moment, then offers the core to
// others between polls, as ranks may outnumber cores, or sleeps: `nap_s` first, if that is above 0,
// then longer and longer, up to ten times that.
template <typename Ready, typename KeepWaiting>
bool poll_until(int spins, double nap_s, Ready&& ready, KeepWaiting&& keep_waiting) {
  for (int i = 0; i < spins; ++i) {
    if (ready()) return true;
    __builtin_ia32_pause();
  }
  constexpr int kPollsPerClock = 64;
  constexpr double kAskEvery = 0.2;
  const auto start = std::chrono::steady_clock::now();
  double asked = 0;
  double nap = nap_s;
  while (true) {
    for (int i = 0; i < (nap_s > 0 ? 1 : kPollsPerClock); ++i) {
      if (ready()) return true;
      sched_yield();
    }
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    if (waited.count() - asked > kAskEvery) {
      asked = waited.count();
      if (!keep_waiting(asked)) return false;
    }
    if (nap_s > 0) {
      std::this_thread::sleep_for(std::chrono::duration<double>(nap));
      constexpr double kGrowth = 1.2;
      constexpr double kMost = 10;
      nap = std::min(nap * kGrowth, kMost * nap_s);
    }
  }
}

}  // namespace trainyard::dist
