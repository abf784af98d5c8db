// Times candidates that compute the same thing, in turns, so that a busy machine slows all alike.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace trainyard::bench {

struct FreeDeleter {
  void operator()(float* data) const;
};
using Floats = std::unique_ptr<float[], FreeDeleter>;
// Zero-filled, on huge pages.
Floats make_floats(int64_t count);

// Shortest time of each candidate in seconds, over rounds that take about `budget` seconds in all
// (at least three rounds). With one thread the clock is the thread's processor time, which does not
// count the time other programs had the core; otherwise it is the wall.
std::vector<double> time_in_turns(const std::vector<std::function<void(int round)>>& candidates,
                                  int threads, double budget);

}  // namespace trainyard::bench
