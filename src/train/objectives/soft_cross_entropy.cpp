// soft-cross-entropy: classification with a probability for each class.
#include "train/objectives/loss.h"
#include "train/objectives/outputs.h"

namespace trainyard::train {
namespace {

Objective make_soft_cross_entropy(const ObjectiveOptions& options) {
  return [options](ops::Builder& builder, std::span<const ValueId> outputs) {
    const LossOptions loss{.label_smoothing = options.label_smoothing,
                           .class_weights = options.class_weights};
    return add_soft_classes(
        builder, outputs, options.auxiliary_weight,
        [&](ValueId scores, ValueId targets) { return add_loss(builder, loss, scores, targets); });
  };
}

}  // namespace

extern const ObjectiveDef kSoftCrossEntropy = {
    "soft-cross-entropy", "of the scores of classes against their probabilities",
    make_soft_cross_entropy};

}  // namespace trainyard::train
