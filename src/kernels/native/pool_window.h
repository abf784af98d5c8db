// Windows of pooling along one axis.
#pragma once

#include <algorithm>
#include <cstdint>

namespace trainyard::kernels::native {

struct Extent {
  int64_t begin;
  int64_t end;
  int64_t size() const { return end - begin; }
};

// The part of window `i` along one axis that lies in the image.
inline Extent inside(int64_t i, int64_t stride, int64_t pad, int64_t kernel, int64_t size) {
  const int64_t begin = i * stride - pad;
  return {std::max<int64_t>(0, begin), std::min(size, begin + kernel)};
}

}  // namespace trainyard::kernels::native
