// The inner product of the native convolutions: a few rows times a panel of 16 packed columns.
#include "kernels/native/panel_gemm.h"

#include <immintrin.h>

namespace trainyard::kernels::native {
namespace {

template <int kRows>
inline void multiply_channel(const float* a, const float* b, __m256 (&sum)[kRows][2]) {
  const __m256 b0 = _mm256_load_ps(b);
  const __m256 b1 = _mm256_load_ps(b + kBlock);
  for (int row = 0; row < kRows; ++row) {
    const __m256 x = _mm256_broadcast_ss(a + row * kBlock);
    sum[row][0] = _mm256_fmadd_ps(x, b0, sum[row][0]);
    sum[row][1] = _mm256_fmadd_ps(x, b1, sum[row][1]);
  }
}

template <int kRows>
void multiply_rows(const float* a, int64_t a_stride, const float* b, int64_t channels, float* out,
                   int64_t out_stride) {
  __m256 sum[kRows][2];
  for (int row = 0; row < kRows; ++row) sum[row][0] = sum[row][1] = _mm256_setzero_ps();
  int64_t c = 0;
  for (; c + kBlock <= channels; c += kBlock, a += a_stride) {
    for (int i = 0; i < kBlock; ++i, b += kPanelWidth) multiply_channel<kRows>(a + i, b, sum);
  }
  for (int i = 0; c < channels; ++c, ++i, b += kPanelWidth) multiply_channel<kRows>(a + i, b, sum);
  for (int row = 0; row < kRows; ++row) {
    _mm256_store_ps(out + row * kBlock, sum[row][0]);
    _mm256_store_ps(out + row * kBlock + out_stride, sum[row][1]);
  }
}

using MultiplyRows = void (*)(const float*, int64_t, const float*, int64_t, float*, int64_t);
constexpr MultiplyRows kMultiplyRows[kPanelRows + 1] = {
    nullptr,          multiply_rows<1>, multiply_rows<2>, multiply_rows<3>,
    multiply_rows<4>, multiply_rows<5>, multiply_rows<6>};

}  // namespace

void panel_gemm(const float* a, int64_t a_stride, int64_t rows, const float* b, int64_t channels,
                float* out, int64_t out_stride) {
  const int64_t groups = (rows + kPanelRows - 1) / kPanelRows;
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t begin = rows * group / groups;
    const int64_t end = rows * (group + 1) / groups;
    kMultiplyRows[end - begin](a + begin * kBlock, a_stride, b, channels, out + begin * kBlock,
                               out_stride);
  }
}

}  // namespace trainyard::kernels::native
