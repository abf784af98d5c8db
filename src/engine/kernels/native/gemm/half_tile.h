// Products of matrices whose operands are rounded to bf16, for AVX-512 with BF16; sums are f32. Two
// steps of the depth take the place of one float, so tiles of such pairs are WideTiles.
#pragma once

#include <cstdint>

#include "engine/kernels/native/gemm/wide_tile.h"

namespace trainyard::kernels::native {

// Pairs for so many steps; the last may be half empty.
constexpr int64_t pairs_of(int64_t depth) {
  return (depth + 1) / 2;
}

inline constexpr int64_t kHalfRows = 8;  // of a group that pack_halves_of_columns() writes

// As wide_tile(), with pairs for a step. Ask cpu_has_avx512_bf16() first, for these all. Rounding
// is to the nearest, ties to even; numbers below 1.2e-38 are zero.
WideTileFunction half_tile(int64_t rows, int64_t vectors);

// Where numbers lie before they are packed: element (line, i) at x[line * stride + i].
struct HalfSource {
  const float* x = nullptr;
  int64_t stride = 0;
};

// Lines go along the depth. Pair k of line l goes to[l * pairs_of(depth) + k].
void pack_halves_of_rows(HalfSource from, int64_t lines, int64_t depth, float* to);
// The same into lanes: pair k of line l goes to[k * to_stride + l], for `lines` <= 8, and zeros up
// to
// 8. `to` is aligned to 32 bytes, to_stride a multiple of 8.
void pack_halves_of_lines(HalfSource from, int64_t lines, int64_t depth, float* to,
                          int64_t to_stride);
// Lines go across the depth. The pair of lines 2k and 2k + 1 at column c goes to[k * to_stride +
// c], for `columns` <= 8, and zeros up to 8.
void pack_halves_of_columns(HalfSource from, int64_t columns, int64_t depth, float* to,
                            int64_t to_stride);

}  // namespace trainyard::kernels::native
