// How eight-bit images lie: channels last.
#pragma once

#include "tensor/layout.h"

namespace trainyard::kernels::native {

// N H W C in memory for images, row-major for everything else.
inline Layout channels_last(const Shape& shape) {
  if (shape.rank() != 4) return {};
  static constexpr int64_t kOrder[] = {0, 2, 3, 1};
  return Layout::dense(shape, kOrder, {});
}

}  // namespace trainyard::kernels::native
