// The sizes of a LinearAttention node, shared by inference and kernels.
#pragma once

#include "ops/nn/attention.h"

namespace trainyard::ops {

// Throws Error for operands that do not fit. Queries, keys and values are batch x rows x (heads x
// columns); `past` stays 0.
AttentionShape linear_attention_shape(const NodeView& node);

}  // namespace trainyard::ops
