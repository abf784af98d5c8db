// What products of matrices ask of their nodes.
#pragma once

#include <optional>

#include "engine/kernels/api/precision.h"
#include "engine/kernels/native/gemm/wide_tile.h"
#include "ir/node_view.h"

namespace trainyard::kernels::native {

// What the node does after its sums; nothing if tiles cannot.
std::optional<WideFinish> wide_finish(const NodeView& node);

// What products that are created now are computed in: bf16 if that is asked for and the processor
// has it.
Precision precision_here();

}  // namespace trainyard::kernels::native
