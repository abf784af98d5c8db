// By what a loss is multiplied, so that its gradients fit into f16 (Micikevicius et al. 2018): as
// large as no gradient overflows.
#pragma once

#include <cstdint>

namespace trainyard::train {

struct LossScale {
  double factor = 65536;
  int64_t updates = 0;  // since it last changed

  // After the gradients of an update were looked at: an overflow halves the factor, and many
  // updates without one double it. Throws Failure where gradients overflow without a factor, too.
  void follow(bool finite);
};

}  // namespace trainyard::train
