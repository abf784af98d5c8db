#include "rl/replay/n_step.h"

namespace trainyard::rl {

void NStep::add(int64_t frame, int32_t action, int64_t next_frame, const Outcome& outcome,
                const Emit& emit) {
  open_.push_back({frame, action, outcome.reward});
  const bool full = static_cast<int64_t>(open_.size()) == steps_;
  // At an episode's end every open step is emitted, each with the rewards that are left. A time
  // limit cuts the sum but keeps the discount: the state after it has a value.
  while (!open_.empty() && (full || outcome.ended())) {
    emit(oldest(next_frame, outcome.terminated));
    open_.pop_front();
    if (!outcome.ended()) return;
  }
}

Transition NStep::oldest(int64_t next_frame, bool terminated) const {
  double sum = 0;
  double discount = 1;
  for (const Open& step : open_) {
    sum += discount * static_cast<double>(step.reward);
    discount *= gamma_;
  }
  return {.frame = open_.front().frame,
          .next_frame = next_frame,
          .reward = static_cast<float>(sum),
          .discount = terminated ? 0.0F : static_cast<float>(discount),
          .action = open_.front().action,
          .steps = static_cast<int32_t>(open_.size())};
}

}  // namespace trainyard::rl
