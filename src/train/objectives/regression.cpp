// mse, huber and smooth-l1: numbers against numbers.
#include "train/objectives/loss.h"
#include "train/objectives/outputs.h"

namespace trainyard::train {
namespace {

ValueId mean_absolute_error(ops::Builder& builder, ValueId output, ValueId targets) {
  const ValueId size = builder.add("Abs", {builder.add("Sub", {output, targets})});
  return builder.add("ReduceMean", {size}, {{"keepdims", int64_t{0}}});
}

Objective make_regression(const char* kind, const ObjectiveOptions& options) {
  return [kind, options](ops::Builder& builder, std::span<const ValueId> outputs) {
    const LossOptions loss{.kind = kind, .delta = options.delta};
    ObjectiveNodes made;
    const ValueId targets = made.add_input(builder, kTargetsInput, builder.type(outputs[0]));
    const auto scaled = [&](ValueId numbers) {
      if (options.target_scale == 1) return numbers;
      const auto factor = static_cast<float>(1 / options.target_scale);
      return builder.add("Mul", {numbers, builder.constant_scalar("target_scale", factor)});
    };
    const ValueId wanted = scaled(targets);
    made.loss = sum_over_outputs(builder, outputs, options.auxiliary_weight, [&](ValueId output) {
      return add_loss(builder, loss, scaled(output), wanted);
    });
    made.metrics.push_back({.name = "absolute_error",
                            .value = mean_absolute_error(builder, outputs[0], targets),
                            .kind = MetricKind::kMean});
    return made;
  };
}

}  // namespace

extern const ObjectiveDef kMeanSquare = {
    kMeanSquareLoss, "mean of the squared differences of outputs and targets",
    [](const ObjectiveOptions& options) { return make_regression("mse", options); }};
extern const ObjectiveDef kHuber = {
    "huber", "squared differences up to `delta`, linear beyond",
    [](const ObjectiveOptions& options) { return make_regression("huber", options); }};
extern const ObjectiveDef kSmoothL1 = {
    "smooth-l1", "huber divided by `delta`",
    [](const ObjectiveOptions& options) { return make_regression("smooth-l1", options); }};

bool compares_numbers(std::string_view loss) {
  return loss == kMeanSquare.name || loss == kHuber.name || loss == kSmoothL1.name;
}

}  // namespace trainyard::train
