// bce: each class on its own, so that several or none may be right.
#include "train/objectives/loss.h"
#include "train/objectives/outputs.h"

namespace trainyard::train {
namespace {

Objective make_binary(const ObjectiveOptions& options) {
  return [options](ops::Builder& builder, std::span<const ValueId> outputs) {
    const auto scores_of = [&](ValueId output) {
      return before_activation(builder.graph(), output, "Sigmoid");
    };
    const ValueId scores = scores_of(outputs[0]);
    ObjectiveNodes made;
    const ValueId targets = made.add_input(builder, kTargetsInput, builder.type(scores));
    made.loss = sum_over_outputs(builder, outputs, options.auxiliary_weight, [&](ValueId output) {
      return add_loss(builder, {.kind = "bce"}, scores_of(output), targets);
    });
    const Shape& shape = builder.shape(scores);
    if (shape.rank() == 2 && shape[1] > 1) {
      made.metrics.push_back(correct_metric(builder, scores, targets));
    }
    return made;
  };
}

}  // namespace

extern const ObjectiveDef kBinary = {
    "bce", "binary cross-entropy of each score against its probability", make_binary};

}  // namespace trainyard::train
