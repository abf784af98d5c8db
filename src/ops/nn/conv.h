// The window of a convolution, shared by Conv and its gradients.
#pragma once

#include "ops/nn/window.h"

namespace trainyard::ops {

// Resolved from the attributes of `node` for input shape x and weight shape w.
Window conv_window(const NodeView& node, const Shape& x, const Shape& w);

}  // namespace trainyard::ops
