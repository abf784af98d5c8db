// The gradient rule that RNN, GRU and LSTM share.
#pragma once

#include <vector>

#include "ops/gradient.h"

namespace trainyard::ops {

// Throws Error for other activations than the usual ones, clipping, lengths, peepholes and coupled
// gates.
std::vector<ValueId> gradient_recurrent(GradContext& grad);

}  // namespace trainyard::ops
