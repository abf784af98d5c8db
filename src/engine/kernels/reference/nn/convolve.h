// The loops of every convolution; float and integer ones differ in how elements are read.
#pragma once

#include <cstdint>

#include "engine/kernels/reference/nn/window_walk.h"
#include "tensor/shape.h"

namespace trainyard::kernels::reference {

// Sums read_x(i) * read_w(j, channel) under each window and calls emit(k, channel, sum), where i,
// j, k index X, W and Y and `channel` is the output channel.
template <typename Acc, typename ReadX, typename ReadW, typename Emit>
void convolve(const WindowWalk& walk, const Shape& x, const Shape& w, int64_t groups,
              ReadX&& read_x, ReadW&& read_w, Emit&& emit) {
  const int64_t depth = w[1];
  const int64_t taps = walk.kernel_size();
  for (int64_t nm = 0; nm < x[0] * w[0]; ++nm) {
    const int64_t n = nm / w[0];
    const int64_t m = nm % w[0];
    const int64_t first_channel = n * x[1] + m / (w[0] / groups) * depth;
    for (int64_t position = 0; position < walk.output_size(); ++position) {
      Acc sum{};
      walk.for_each(position, [&](int64_t tap, int64_t at) {
        for (int64_t c = 0; c < depth; ++c) {
          sum += read_x((first_channel + c) * walk.input_size() + at) *
                 read_w((m * depth + c) * taps + tap, m);
        }
      });
      emit(nm * walk.output_size() + position, m, sum);
    }
  }
}

}  // namespace trainyard::kernels::reference
