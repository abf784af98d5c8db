// Compiled for AVX-512 with BF16: nothing here may be shared with files that are not, so there are
// no functions but local ones and those of the header.
#include "engine/kernels/native/gemm/half_tile.h"

#include "engine/kernels/native/gemm/wide_tile_loops.h"
#include "engine/kernels/native/transpose.h"

namespace trainyard::kernels::native {
namespace {

struct Pairs {
  [[gnu::always_inline]] static __m512 multiply_add(__m512 a, __m512 b, __m512 sum) {
    return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
  }
};

constexpr int64_t kStep = 16;  // floats of a line that are packed at a time

__mmask16 first_of(int64_t count) {
  return static_cast<__mmask16>(count >= kStep ? 0xffff : (1 << count) - 1);
}

// Sixteen floats as eight pairs.
__m256 packed(__m512 x) {
  return (__m256)_mm512_cvtneps_pbh(x);
}

}  // namespace

WideTileFunction half_tile(int64_t rows, int64_t vectors) {
  return tile_of<Pairs>(rows, vectors);
}

void pack_halves_of_rows(HalfSource from, int64_t lines, int64_t depth, float* to) {
  const int64_t pairs = pairs_of(depth);
  for (int64_t line = 0; line < lines; ++line) {
    const float* x = from.x + line * from.stride;
    for (int64_t i = 0; i < depth; i += kStep) {
      const __m512 numbers = _mm512_maskz_loadu_ps(first_of(depth - i), x + i);
      const auto there = static_cast<__mmask8>(first_of(pairs - i / 2));
      _mm256_mask_storeu_ps(to + line * pairs + i / 2, there, packed(numbers));
    }
  }
}

void pack_halves_of_lines(HalfSource from, int64_t lines, int64_t depth, float* to,
                          int64_t to_stride) {
  alignas(32) float block[8 * 8];
  alignas(32) float turned[8 * 8];
  const int64_t pairs = pairs_of(depth);
  for (int64_t i = 0; i < depth; i += kStep) {
    for (int64_t line = 0; line < 8; ++line) {
      const __mmask16 there = line < lines ? first_of(depth - i) : __mmask16{0};
      const float* x = from.x + (line < lines ? line * from.stride + i : 0);
      _mm256_store_ps(block + line * 8, packed(_mm512_maskz_loadu_ps(there, x)));
    }
    transpose_8x8(block, 8, turned, 8);
    const int64_t here = pairs - i / 2 < 8 ? pairs - i / 2 : 8;
    for (int64_t k = 0; k < here; ++k) {
      _mm256_store_ps(to + (i / 2 + k) * to_stride, _mm256_load_ps(turned + k * 8));
    }
  }
}

void pack_halves_of_columns(HalfSource from, int64_t columns, int64_t depth, float* to,
                            int64_t to_stride) {
  const auto there = static_cast<__mmask8>(first_of(columns));
  // Numbers of the first line in the lower halves of lanes, of the second in the upper ones.
  const __m512i order = _mm512_set_epi32(15, 7, 14, 6, 13, 5, 12, 4, 11, 3, 10, 2, 9, 1, 8, 0);
  for (int64_t i = 0; i < depth; i += 2) {
    const float* x = from.x + i * from.stride;
    const __m256 first = _mm256_maskz_loadu_ps(there, x);
    const __m256 second =
        i + 1 < depth ? _mm256_maskz_loadu_ps(there, x + from.stride) : _mm256_setzero_ps();
    const __m512 both = _mm512_insertf32x8(_mm512_castps256_ps512(first), second, 1);
    _mm256_store_ps(to + i / 2 * to_stride, packed(_mm512_permutexvar_ps(order, both)));
  }
}

}  // namespace trainyard::kernels::native
