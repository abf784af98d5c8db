// focal: cross-entropy in which what is right already counts less (Lin et al. 2017).
#include "train/objectives/loss.h"
#include "train/objectives/outputs.h"

namespace trainyard::train {
namespace {

Objective make_focal(const ObjectiveOptions& options) {
  return [options](ops::Builder& builder, std::span<const ValueId> outputs) {
    const LossOptions loss{.kind = "focal",
                           .label_smoothing = options.label_smoothing,
                           .class_weights = options.class_weights,
                           .focus = options.focus};
    return add_soft_classes(
        builder, outputs, options.auxiliary_weight,
        [&](ValueId scores, ValueId targets) { return add_loss(builder, loss, scores, targets); });
  };
}

}  // namespace

extern const ObjectiveDef kFocal = {"focal", "cross-entropy times (1 - probability)^focus",
                                    make_focal};

}  // namespace trainyard::train
