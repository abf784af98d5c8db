// Copies a tensor from one layout into another.
#pragma once

#include <cstdint>

#include "tensor/layout.h"

namespace trainyard {

// Element by element; padding of `to` becomes zero, and nothing else around it is touched, so `to`
// may be a part of a larger buffer.
void copy_between_layouts(const TensorType& type, const void* from, const Layout& from_layout,
                          void* to, const Layout& to_layout);

}  // namespace trainyard
