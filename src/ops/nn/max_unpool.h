// The shapes of MaxUnpool, shared by inference and kernels.
#pragma once

#include "ir/node_view.h"

namespace trainyard::ops {

// The smallest shape whose pooling gives the node's input; what the indices count in.
Shape unpooled_shape(const NodeView& node);

// Throws Error unless `smallest` fits into `wanted`, the value of input output_shape.
void require_unpooled(const Shape& smallest, const Shape& wanted);

}  // namespace trainyard::ops
