// The inner product of the native convolutions: a few rows times a panel of 16 packed columns.
#pragma once

#include <cstdint>

namespace trainyard::kernels::native {

inline constexpr int64_t kBlock = 8;        // channels per block of the nChw8c layout
inline constexpr int64_t kPanelWidth = 16;  // columns of a packed panel: two vectors
inline constexpr int64_t kPanelRows = 6;    // rows per call: 6 x 2 sums fill 12 of 16 registers

// a: rows in blocks of 8 channels, element (row, c) at a[c / 8 * a_stride + row * 8 + c % 8].
// b: the panel, [channels][16], 32-byte aligned.
// out: two blocks of 8 columns, element (row, k) at out[k / 8 * out_stride + row * 8 + k % 8];
// overwritten. next: the panel multiplied after this one, fetched meanwhile; any address may be
// given, it is only a hint. rows >= 1; they are cut into nearly equal groups of at most kPanelRows.
void panel_gemm(const float* a, int64_t a_stride, int64_t rows, const float* b, int64_t channels,
                const float* next, float* out, int64_t out_stride);

// The same on vectors of 16, to the bit; asks for AVX-512.
void panel_gemm_wide(const float* a, int64_t a_stride, int64_t rows, const float* b,
                     int64_t channels, const float* next, float* out, int64_t out_stride);

// The same of two panels: the second lies b_stride floats behind b, what to fetch behind next, and
// its result behind the first's.
void panel_pair_gemm_wide(const float* a, int64_t a_stride, int64_t rows, const float* b,
                          int64_t b_stride, int64_t channels, const float* next, float* out,
                          int64_t out_stride);

}  // namespace trainyard::kernels::native
