// Layouts that oneDNN's vector kernels like.
#pragma once

#include "tensor/layout.h"

namespace trainyard::kernels::onednn {

// Channels per block: the vector width of this processor in f32 elements.
int64_t channel_block();

// A dense channel-blocked layout: with the blocks the input has, or those of this processor.
Layout blocked_like(const Layout& offered, const Shape& shape);

}  // namespace trainyard::kernels::onednn
