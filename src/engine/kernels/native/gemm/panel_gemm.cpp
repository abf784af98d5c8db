// The inner product of the native convolutions: a few rows times a panel of 16 packed columns.
#include "engine/kernels/native/gemm/panel_gemm.h"

#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/vectors.h"

namespace trainyard::kernels::native {
namespace {

// Rows are template arguments, not loop counters: g++ keeps an array in registers only if every
// index is a constant before it unrolls loops.
template <int... kRow>
void multiply_rows(const float* a, int64_t a_stride, const float* b, int64_t channels,
                   const float* next, float* out, int64_t out_stride) {
  __m256 sum0[] = {(static_cast<void>(kRow), _mm256_setzero_ps())...};
  __m256 sum1[] = {(static_cast<void>(kRow), _mm256_setzero_ps())...};
  const auto add_channel = [&](const float* x) {
    const __m256 b0 = _mm256_load_ps(b);
    const __m256 b1 = _mm256_load_ps(b + kBlock);
    const auto add_row = [&](const float* value, __m256& to0, __m256& to1) {
      const __m256 all = _mm256_broadcast_ss(value);
      to0 = _mm256_fmadd_ps(all, b0, to0);
      to1 = _mm256_fmadd_ps(all, b1, to1);
    };
    (add_row(x + kRow * kBlock, sum0[kRow], sum1[kRow]), ...);
    b += kPanelWidth;
    _mm_prefetch(reinterpret_cast<const char*>(next), _MM_HINT_T0);
    next += kPanelWidth;
  };
  for (; channels >= kBlock; channels -= kBlock, a += a_stride) {
    add_channel(a);
    add_channel(a + 1);
    add_channel(a + 2);
    add_channel(a + 3);
    add_channel(a + 4);
    add_channel(a + 5);
    add_channel(a + 6);
    add_channel(a + 7);
  }
  for (; channels > 0; --channels, ++a) add_channel(a);
  (_mm256_store_ps(out + kRow * kBlock, sum0[kRow]), ...);
  (_mm256_store_ps(out + out_stride + kRow * kBlock, sum1[kRow]), ...);
}

using MultiplyRows = void (*)(const float*, int64_t, const float*, int64_t, const float*, float*,
                              int64_t);
constexpr MultiplyRows kMultiplyRows[kPanelRows + 1] = {nullptr,
                                                        multiply_rows<0>,
                                                        multiply_rows<0, 1>,
                                                        multiply_rows<0, 1, 2>,
                                                        multiply_rows<0, 1, 2, 3>,
                                                        multiply_rows<0, 1, 2, 3, 4>,
                                                        multiply_rows<0, 1, 2, 3, 4, 5>};

}  // namespace

void panel_gemm(const float* a, int64_t a_stride, int64_t rows, const float* b, int64_t channels,
                const float* next, float* out, int64_t out_stride) {
  static const bool kWide = channel_block() == kPanelWidth;
  if (kWide) {
    panel_gemm_wide(a, a_stride, rows, b, channels, next, out, out_stride);
    return;
  }
  const int64_t groups = (rows + kPanelRows - 1) / kPanelRows;
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t begin = rows * group / groups;
    const int64_t end = rows * (group + 1) / groups;
    kMultiplyRows[end - begin](a + begin * kBlock, a_stride, b, channels, next,
                               out + begin * kBlock, out_stride);
  }
}

}  // namespace trainyard::kernels::native
