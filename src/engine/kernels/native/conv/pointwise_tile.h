// The inner loop of 1x1 convolutions for AVX-512 on images in blocks of 8 channels. Plain data and
// pointers only: the file that is compiled for such processors includes it.
#pragma once

#include <cstdint>

namespace trainyard::kernels::native {

inline constexpr int64_t kPointwiseLanes = 16;
inline constexpr int64_t kPointwiseVectors = 2;     // of channels, at most
inline constexpr int64_t kPointwisePositions = 12;  // at most: 12 x 2 sums fill 24 of 32 registers

// y = min(max(sum of x and weights + bias + added, low), high) at some neighboring positions for at
// most 32 channels.
struct PointwiseTile {
  const float* x = nullptr;
  int64_t x_plane = 0;  // between blocks of input channels
  int64_t in_blocks = 0;
  const float* weights = nullptr;  // [input channel][16 x vectors]
  const float* bias = nullptr;     // [16 x vectors]
  const float* added = nullptr;    // where y has what; may be null
  float* y = nullptr;
  int64_t y_plane = 0;
  int64_t out_blocks = 0;  // that y has; the other channels are padding of the weights
  float low = 0;
  float high = 0;
};
using PointwiseTileFunction = void (*)(const PointwiseTile&);

// By positions and vectors. Ask cpu_has_avx512() first.
PointwiseTileFunction pointwise_tile(int64_t positions, int64_t vectors);

}  // namespace trainyard::kernels::native
