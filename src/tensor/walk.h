// Walking several strided tensors in step: what broadcasting, reducing and permuting loops share.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/shape.h"

namespace trainyard {

template <size_t N>
using Offsets = std::array<int64_t, N>;

// Calls f(offsets) for every index of `shape`, in row-major order; offsets[k] is where operand k,
// which has strides[k] (in elements, one per dimension, 0 where it is stretched), is read or
// written.
template <size_t N, typename F>
void walk(const Shape& shape, const std::array<std::vector<int64_t>, N>& strides, F&& f) {
  if (shape.num_elements() == 0) return;
  const int64_t rank = shape.rank();
  std::vector<int64_t> index(static_cast<size_t>(rank), 0);
  Offsets<N> at{};
  while (true) {
    f(at);
    int64_t axis = rank - 1;
    for (; axis >= 0; --axis) {
      const auto d = static_cast<size_t>(axis);
      const bool wraps = ++index[d] == shape[axis];
      for (size_t k = 0; k < N; ++k) at[k] += strides[k][d] * (wraps ? 1 - shape[axis] : 1);
      if (!wraps) break;
      index[d] = 0;
    }
    if (axis < 0) return;
  }
}

}  // namespace trainyard
