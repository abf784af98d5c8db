// What nodes that are convolutions of bytes have in common.
#pragma once

#include "engine/kernels/native/int8/byte_conv.h"
#include "ir/node_view.h"

namespace trainyard::kernels::native {

// Of a node with a window over images.
ByteConvShape byte_conv_shape(const NodeView& node);

// Do floats go on to kernels that want blocks of channels? Transpose and the like do not.
bool wants_blocks(const NodeView& node);

}  // namespace trainyard::kernels::native
