// How an operator that shape arithmetic needs is computed. Inference runs it on values that are
// known before the run, the reference kernels on all others.
#pragma once

#include <functional>
#include <span>

#include "tensor/tensor.h"

namespace trainyard::ops {

using Views = std::span<const TensorView>;

// Computes outputs from inputs; an absent one has a null data pointer. Made from a node, it keeps
// nothing of the graph. Throws Error for data that make no sense (an index outside a tensor).
using Routine = std::function<void(Views inputs, Views outputs)>;

// The elements of input 0 in their order: what Reshape and its like do.
void copy_elements(Views inputs, Views outputs);

}  // namespace trainyard::ops
