// Waiting for another thread or process without sleeping, up to a limit.
#pragma once

#include <chrono>
#include <sched.h>

namespace trainyard::dist {

// Polls `ready` until it is true (the answer is true) or `limit_s` seconds have passed (false). It
// spins for a moment, then offers the core to others between polls: ranks may outnumber cores.
template <typename Ready>
bool poll_until(double limit_s, int spins, Ready&& ready) {
  for (int i = 0; i < spins; ++i) {
    if (ready()) return true;
    __builtin_ia32_pause();
  }
  constexpr int kPollsPerClock = 64;
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    for (int i = 0; i < kPollsPerClock; ++i) {
      if (ready()) return true;
      sched_yield();
    }
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    if (waited.count() > limit_s) return false;
  }
}

}  // namespace trainyard::dist
