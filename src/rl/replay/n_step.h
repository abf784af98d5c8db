// From steps to transitions over n of them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "rl/env/environment.h"

namespace trainyard::rl {

// Frames are numbers in a FrameStore. The target of a learner is
// reward + discount * Q(next_frame): the discount is gamma to the number of steps, and 0 where the
// episode terminated. A time limit does not make it 0.
struct Transition {
  int64_t frame = 0;
  int64_t next_frame = 0;
  float reward = 0;  // sum of gamma^k r_k
  float discount = 0;
  int32_t action = 0;
  int32_t steps = 0;
};

// The steps of one copy of an environment.
class NStep {
 public:
  NStep(int64_t steps, double gamma) : steps_(steps), gamma_(gamma) {}

  using Emit = std::function<void(const Transition&)>;
  // The step from `frame` to `next_frame`. Calls `emit` for each transition that is complete now:
  // at most one, or all that are open when the episode ends, shorter ones among them.
  void add(int64_t frame, int32_t action, int64_t next_frame, const Outcome& outcome,
           const Emit& emit);

  // Steps that wait for later ones, oldest first; for checkpoints.
  struct Open {
    int64_t frame = 0;
    int32_t action = 0;
    float reward = 0;
  };
  const std::deque<Open>& open() const { return open_; }
  void set_open(std::deque<Open> open) { open_ = std::move(open); }

 private:
  Transition oldest(int64_t next_frame, bool terminated) const;

  int64_t steps_;
  double gamma_;
  std::deque<Open> open_;
};

}  // namespace trainyard::rl
