// cross-entropy: classification with class indices.
#include "train/objectives/loss.h"
#include "train/objectives/outputs.h"

namespace trainyard::train {
namespace {

constexpr int64_t kIgnoredLabel = -1;

// Mixed images have two classes. Weights go this way too, as the mean is then one over the samples,
// which workers can share.
Objective make_soft(const ObjectiveOptions& options) {
  return [options](ops::Builder& builder, std::span<const ValueId> outputs) {
    const LossOptions loss{.label_smoothing = options.label_smoothing,
                           .class_weights = options.class_weights};
    return add_soft_classes(
        builder, outputs, options.auxiliary_weight,
        [&](ValueId scores, ValueId targets) { return add_loss(builder, loss, scores, targets); });
  };
}

Objective make_cross_entropy(const ObjectiveOptions& options) {
  if (options.mixed_targets || !options.class_weights.empty()) return make_soft(options);
  return [options](ops::Builder& builder, std::span<const ValueId> outputs) {
    const Graph& graph = builder.graph();
    const ValueId scores = class_scores(graph, outputs[0]);
    const LossOptions loss{.label_smoothing = options.label_smoothing,
                           .ignore_index = kIgnoredLabel};
    ObjectiveNodes made;
    const ValueId labels =
        made.add_input(builder, kLabelsInput, {DType::kI64, {builder.shape(scores)[0]}});
    made.loss = sum_over_outputs(builder, outputs, options.auxiliary_weight, [&](ValueId output) {
      return add_loss(builder, loss, class_scores(graph, output), labels);
    });
    made.metrics.push_back(correct_metric(builder, scores, labels));
    return made;
  };
}

}  // namespace

extern const ObjectiveDef kCrossEntropy = {
    "cross-entropy", "of the scores of classes against the class", make_cross_entropy};

}  // namespace trainyard::train
