// What operators compute by themselves, before anything runs.
#pragma once

#include <vector>

#include "ir/node_view.h"

namespace trainyard::ops {

// The outputs of a node whose inputs are all constants, however large, where the operator can
// compute them without kernels; empty otherwise.
std::vector<Tensor> compute_known(const NodeView& node);

}  // namespace trainyard::ops
