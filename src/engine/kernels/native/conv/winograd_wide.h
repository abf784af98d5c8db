// Tiles of Winograd convolutions sixteen channels at a time, for AVX-512 on images in blocks of 16.
// Plain data and pointers only: the file that is compiled for such processors includes it.
#pragma once

#include <cstdint>

namespace trainyard::kernels::native {

// Of transformed tiles, whose channels lie in blocks of 8: floats from one point to the next, and
// from a block to the one behind it.
struct WideStrides {
  int64_t point;
  int64_t half;
};

struct WideOutput {
  const float* products = nullptr;
  WideStrides strides = {};
  const float* bias = nullptr;
  const float* residual = nullptr;  // where dst has what; may be null
  float* dst = nullptr;
  int64_t row_stride = 0;
  int64_t rows = 0;  // of the tile that are stored
  int64_t columns = 0;
  float low = 0;
  float high = 0;
};

struct WideWinogradTile {
  // v = B^T d B. Columns of the rows before `left` and from `right` on count as zero.
  void (*input)(const float* const* rows, int64_t left, int64_t right, WideStrides strides,
                float* v);
  // dst = min(max(A^T m A + bias + residual, low), high).
  void (*output)(const WideOutput& output);
};

// Ask cpu_has_avx512() first.
WideWinogradTile wide_winograd_tile(int64_t outputs, int64_t points);

}  // namespace trainyard::kernels::native
