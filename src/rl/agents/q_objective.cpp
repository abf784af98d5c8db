#include "rl/agents/q_objective.h"

#include <algorithm>

#include "base/error.h"

namespace trainyard::rl {

train::ObjectiveNodes QLearningObjective::operator()(ops::Builder& builder,
                                                     std::span<const ValueId> outputs) const {
  const TensorType type = builder.type(outputs[0]);
  TY_REQUIRE(outputs.size() == 1 && type.shape.rank() == 2,
             "Q-learning needs one output of a value per action, found {} of {}", outputs.size(),
             type.to_string());
  const TensorType column{DType::kF32, Shape{type.shape[0], 1}};
  train::ObjectiveNodes made;
  const ValueId taken = made.add_input(builder, kTakenInput, type);
  const ValueId target = made.add_input(builder, kTargetInput, column);
  const ValueId weight = made.add_input(builder, kWeightInput, column);
  const std::vector<int64_t> axes = {1};
  const ValueId value = builder.add("ReduceSum", {builder.add("Mul", {outputs[0], taken}),
                                                  builder.constant_ints("loss.axes", axes)});
  const ValueId error = builder.add("Sub", {value, target});
  ValueId each = builder.add("Mul", {error, error});
  if (loss == "huber") {
    // With q = min(|d|, 1): q * |d| - q * q / 2.
    const ValueId size = builder.add("Abs", {error});
    const ValueId q =
        builder.add("Clip", {size, kNoValue, builder.constant_scalar("loss.one", 1.0F)});
    const ValueId half = builder.add("Mul", {q, builder.constant_scalar("loss.half", 0.5F)});
    each = builder.add("Mul", {q, builder.add("Sub", {size, half})});
  }
  made.loss =
      builder.add("ReduceMean", {builder.add("Mul", {each, weight})}, {{"keepdims", int64_t{0}}});
  made.metrics = {{.name = kErrorMetric, .value = error, .kind = train::MetricKind::kEach},
                  {.name = kValueMetric,
                   .value = builder.add("ReduceMean", {value}, {{"keepdims", int64_t{0}}})}};
  return made;
}

void throw_diverged(const std::string& what, double value) {
  throw_failure(
      "{} is {}. Try a lower learning rate, gradient clipping or a target "
      "network",
      what, value);
}

int32_t best_action(std::span<const float> values) {
  return static_cast<int32_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

void q_targets(const TargetInputs& inputs, std::span<float> targets) {
  const size_t actions = inputs.values.size() / targets.size();
  for (size_t i = 0; i < targets.size(); ++i) {
    const int32_t chosen = best_action(inputs.chooser.subspan(i * actions, actions));
    const float value = inputs.values[i * actions + static_cast<size_t>(chosen)];
    // Not a product with 0: what lies behind the end may be anything.
    targets[i] = inputs.discounts[i] == 0 ? inputs.rewards[i]
                                          : inputs.rewards[i] + inputs.discounts[i] * value;
  }
}

}  // namespace trainyard::rl
