// The objective of Q-learning, for train::TrainingStep, and the targets it is given.
#pragma once

#include <span>
#include <string>

#include "train/objective.h"

namespace trainyard::rl {

// f32[batch, actions]: 1 at the action that was taken.
inline constexpr const char* kTakenInput = "taken";
// f32[batch, 1]
inline constexpr const char* kTargetInput = "target";
inline constexpr const char* kWeightInput = "weight";
// Q(s, a) - target of each sample (MetricKind::kEach), and the mean of Q(s, a).
inline constexpr const char* kErrorMetric = "td_error";
inline constexpr const char* kValueMetric = "q_value";

// The mean of weight * loss(Q(s, a) - target). `loss` is huber (quadratic up to 1, linear beyond)
// or mse (the square, not half of it).
struct QLearningObjective {
  std::string loss = "huber";
  train::ObjectiveNodes operator()(ops::Builder& builder, std::span<const ValueId> outputs) const;
};

// What targets are made of, row by row: values of `actions` numbers per sample.
struct TargetInputs {
  std::span<const float> rewards;
  std::span<const float> discounts;  // 0 where the episode terminated
  std::span<const float> values;     // of the target network after the step
  std::span<const float> chooser;    // whose largest is the action: the same values, or the online
                                     // network's (van Hasselt et al. 2016)
};
// reward + discount * value of the chosen action.
void q_targets(const TargetInputs& inputs, std::span<float> targets);

// A Failure: `what`, which says when, is a number that is not finite.
[[noreturn]] void throw_diverged(const std::string& what, double value);

// The first of the largest numbers.
int32_t best_action(std::span<const float> values);

}  // namespace trainyard::rl
