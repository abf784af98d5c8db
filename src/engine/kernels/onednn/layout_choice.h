// Layouts that oneDNN's vector kernels like.
#pragma once

#include <string_view>

#include "engine/kernels/native/cpu.h"
#include "engine/kernels/onednn/dnnl.h"
#include "tensor/layout.h"

namespace trainyard::kernels::onednn {

using native::channel_block;

// The library's first choice, or its first one for vectors of 8 floats where wider do not pay.
// The operation that `first` was made from must still be there. Only for f32: the instructions for
// int8 are worth their width everywhere.
template <typename PrimitiveDesc>
PrimitiveDesc for_channel_block(PrimitiveDesc first) {
  if (!first || channel_block() == 16) return first;
  PrimitiveDesc candidate = first;
  do {
    const std::string_view name = candidate.impl_info_str();
    if (name.find("avx2") != std::string_view::npos) return candidate;
  } while (candidate.next_impl());
  return first;
}

// A dense channel-blocked layout: with the blocks the input has, or those of this processor.
Layout blocked_like(const Layout& offered, const Shape& shape);

}  // namespace trainyard::kernels::onednn
