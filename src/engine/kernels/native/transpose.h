// Turning an 8x8 block of floats over its diagonal. Always inlined: files that
// include this are compiled for different processors.
#pragma once

#include "engine/kernels/native/vectors.h"

namespace trainyard::kernels::native {

// `from` has rows of 8 floats, `from_stride` apart; so has `to`. Both aligned to 32 bytes.
[[gnu::always_inline]] inline void transpose_8x8(const float* from, int64_t from_stride, float* to,
                                                 int64_t to_stride) {
  __m256 pairs[8];
  for (int i = 0; i < 8; i += 2) {
    const __m256 a = _mm256_load_ps(from + i * from_stride);
    const __m256 b = _mm256_load_ps(from + (i + 1) * from_stride);
    pairs[i] = _mm256_unpacklo_ps(a, b);
    pairs[i + 1] = _mm256_unpackhi_ps(a, b);
  }
  __m256 quads[8];
  for (int i = 0; i < 8; i += 4) {
    quads[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
    quads[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xEE);
    quads[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
    quads[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xEE);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_store_ps(to + i * to_stride, _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20));
    _mm256_store_ps(to + (i + 4) * to_stride, _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31));
  }
}

}  // namespace trainyard::kernels::native
