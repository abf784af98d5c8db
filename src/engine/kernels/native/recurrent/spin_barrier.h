// Where threads that work on one thing step by step wait for each other.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "base/relax.h"

namespace trainyard::kernels::native {

// A clock that is quick to read, in units of its own.
inline uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

// Work is cut into `parts`; a thread that does several of them arrives for all of them, so that one
// thread alone never waits. A thread that has to wait spins for about ten microseconds, then gives
// its core away: another process may be using the one its partner needs.
class SpinBarrier {
 public:
  explicit SpinBarrier(int64_t parts) : parts_(parts) {}

  // `step` counts the meetings from 0.
  [[gnu::always_inline]] void arrive(int64_t step, int64_t own_parts) {
    arrived_.fetch_add(own_parts, std::memory_order_acq_rel);
    const int64_t wanted = parts_ * (step + 1);
    if (arrived_.load(std::memory_order_acquire) >= wanted) return;
    const uint64_t began = ticks();
    for (int spins = 0; arrived_.load(std::memory_order_acquire) < wanted; ++spins) {
      if (spins < kSpins) {
        relax();
      } else {
        std::this_thread::yield();
      }
    }
    // At the first meeting a partner may have had to wake.
    if (step > 0) waited_.fetch_add(ticks() - began, std::memory_order_relaxed);
  }

  // ticks() that threads waited, all together.
  uint64_t waited() const { return waited_.load(std::memory_order_relaxed); }

 private:
  static constexpr int kSpins = 400;
  const int64_t parts_;
  std::atomic<uint64_t> waited_{0};
  std::atomic<int64_t> arrived_{0};
};

}  // namespace trainyard::kernels::native
