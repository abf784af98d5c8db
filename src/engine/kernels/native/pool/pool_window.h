// Windows of pooling along one axis.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/nn/window.h"

namespace trainyard::kernels::native {

struct Extent {
  int64_t begin;
  int64_t end;
  int64_t size() const { return end - begin; }
};

// The part of window `i` along `axis` that lies in the image, which has `size` positions there.
inline Extent inside(const ops::Window& window, size_t axis, int64_t i, int64_t size) {
  const int64_t begin = i * window.strides[axis] - window.pads_begin[axis];
  return {std::max<int64_t>(0, begin), std::min(size, begin + window.kernel[axis])};
}

// How many positions of it lie in the image or its padding, but not in what ceil_mode adds beyond.
inline int64_t size_with_padding(const ops::Window& window, size_t axis, int64_t i, int64_t size) {
  const int64_t begin = i * window.strides[axis] - window.pads_begin[axis];
  return std::min(begin + window.kernel[axis], size + window.pads_end[axis]) - begin;
}

}  // namespace trainyard::kernels::native
