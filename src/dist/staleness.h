// How stale the gradients of asynchronous learners are, from the times at which they are written.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard::dist {

struct GradientEvent {
  int64_t learner = 0;  // from 1, in the order given
  int64_t index = 0;    // from 1, in the learner's own order
  double read_time = 0;
  double time = 0;  // of the write
  int64_t staleness = 0;
};

// Learners share one set of weights, whose version grows by one with every update. A learner reads
// the weights at time 0, computes, writes its first gradient at the first of its times, reads again
// at once, and so on. The staleness of a gradient is the version it is applied to less the version
// it was computed from: the updates by others between its read and its write. Writes at the same
// time are applied in the order of the learners.
//
// The result is in the order in which the updates are applied. Throws Error unless each learner's
// times are positive, finite and increasing.
std::vector<GradientEvent> gradient_staleness(std::span<const std::vector<double>> learners);

}  // namespace trainyard::dist
