// Times candidates that compute the same thing, in turns, so that a busy machine slows all alike.
#include "side_by_side.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <sys/mman.h>
#include <time.h>

namespace trainyard::bench {
namespace {

double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

void FreeDeleter::operator()(float* data) const {
  std::free(data);
}

Floats make_floats(int64_t count) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t bytes = static_cast<size_t>(count) * sizeof(float);
  void* memory = nullptr;
  if (posix_memalign(&memory, kHugePage, bytes) != 0) throw std::bad_alloc();
  (void)madvise(memory, bytes, MADV_HUGEPAGE);
  std::memset(memory, 0, bytes);
  return Floats(static_cast<float*>(memory));
}

std::vector<double> time_in_turns(const std::vector<std::function<void(int round)>>& candidates,
                                  int threads, double budget) {
  const clockid_t clock = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  std::vector<double> best(candidates.size(), std::numeric_limits<double>::infinity());
  const double start = now(CLOCK_MONOTONIC);
  for (int round = 0; round < 3 || now(CLOCK_MONOTONIC) - start < budget; ++round) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      const double begin = now(clock);
      candidates[i](round);
      best[i] = std::min(best[i], now(clock) - begin);
    }
  }
  return best;
}

}  // namespace trainyard::bench
