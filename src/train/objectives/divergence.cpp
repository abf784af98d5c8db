// kl: a student against the scores of its teacher, both softened by a temperature (Hinton, Vinyals,
// Dean: Distilling the Knowledge in a Neural Network, 2015).
#include "train/objectives/loss.h"
#include "train/objectives/outputs.h"

namespace trainyard::train {
namespace {

Objective make_divergence(const ObjectiveOptions& options) {
  return [options](ops::Builder& builder, std::span<const ValueId> outputs) {
    const LossOptions loss{.kind = "kl", .temperature = options.temperature};
    return add_soft_classes(
        builder, outputs, options.auxiliary_weight,
        [&](ValueId scores, ValueId targets) { return add_loss(builder, loss, scores, targets); });
  };
}

}  // namespace

extern const ObjectiveDef kDivergence = {
    "kl", "divergence of the scores from a teacher's, softened by `temperature`", make_divergence};

}  // namespace trainyard::train
