// Parts of the gradients of attention that are loops over lanes, and what stands in for AVX-512.
#pragma once

#include <cstdint>

#include "engine/kernels/native/attention/wide_softmax.h"
#include "engine/kernels/native/gemm/wide_tile.h"

namespace trainyard::kernels::native {

// [key][width] each; `factors` one for each lane.
struct SlopeBlock {
  float* shares = nullptr;  // exponentials, become shares: times the factor of their lane
  float* slopes = nullptr;  // with regard to shares, become those with regard to scores / scale
  const float* factors = nullptr;
  int64_t keys = 0;
  int64_t width = 0;  // a multiple of 16, at most 48
  float scale = 1;
};
void finish_slopes(const SlopeBlock& block);

// What wide_softmax() and a wide tile of so many rows compute, for any processor that the folder is
// compiled for. Of softmax without a mask; of tiles without bias and activation.
void plain_softmax(const WideSoftmax& job);
void plain_tile(int64_t rows, const WideTile& tile);

}  // namespace trainyard::kernels::native
