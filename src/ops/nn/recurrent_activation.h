// The activation functions that RNN, GRU and LSTM name in their attributes.
#pragma once

#include <vector>

#include "ir/node_view.h"

namespace trainyard::ops {

struct RecurrentActivation {
  double (*formula)(double x, double alpha, double beta);
  double alpha = 0;
  double beta = 0;

  double operator()(double x) const { return formula(x, alpha, beta); }
};

// Those of the first direction, then those of the second, if there are two. Throws Error for
// unknown names and wrong counts.
std::vector<RecurrentActivation> recurrent_activations(const NodeView& node, int64_t directions);

}  // namespace trainyard::ops
