// The operands of GatedExperts and GatedExpertsGrad, which share a check.
#pragma once

#include "ir/node_view.h"

namespace trainyard::ops {

struct ExpertShape {
  int64_t rows = 0;
  int64_t hidden = 0;
  int64_t experts = 0;
  int64_t inner = 0;  // of one expert
};

// Throws Error unless the first five operands fit together.
ExpertShape expert_shape(const NodeView& node);

}  // namespace trainyard::ops
