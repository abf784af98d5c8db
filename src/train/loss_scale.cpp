#include "train/loss_scale.h"

#include "base/error.h"

namespace trainyard::train {

void LossScale::follow(bool finite) {
  constexpr int64_t kPatience = 2000;
  constexpr double kStep = 2;
  ++updates;
  if (finite && updates < kPatience) return;
  factor = finite ? factor * kStep : factor / kStep;
  updates = 0;
  if (factor >= 1) return;
  throw_failure(
      "gradients leave the range of f16 whatever the loss is multiplied by. Try bf16, a lower "
      "learning rate or gradient clipping");
}

}  // namespace trainyard::train
