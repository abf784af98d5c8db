// panel_gemm for AVX-512: a panel's row is one vector, and 32 registers hold the sums of more rows.
#include <array>
#include <immintrin.h>
#include <utility>

#include "engine/kernels/native/gemm/panel_gemm.h"

namespace trainyard::kernels::native {
namespace {

// Each channel loads the panel's row once and a broadcast per row of a.
constexpr int64_t kWideRows = 14;

template <int... kRow>
void multiply_rows_wide(const float* a, int64_t a_stride, const float* b, int64_t channels,
                        const float* next, float* out, int64_t out_stride) {
  __m512 sums[] = {(static_cast<void>(kRow), _mm512_setzero_ps())...};
  const auto add_channel = [&](const float* x) {
    const __m512 row = _mm512_loadu_ps(b);
    ((sums[kRow] = _mm512_fmadd_ps(_mm512_set1_ps(x[kRow * kBlock]), row, sums[kRow])), ...);
    b += kPanelWidth;
    _mm_prefetch(reinterpret_cast<const char*>(next), _MM_HINT_T0);
    next += kPanelWidth;
  };
  for (; channels >= kBlock; channels -= kBlock, a += a_stride) {
    for (int64_t c = 0; c < kBlock; ++c) add_channel(a + c);
  }
  for (; channels > 0; --channels, ++a) add_channel(a);
  (_mm256_store_ps(out + kRow * kBlock, _mm512_castps512_ps256(sums[kRow])), ...);
  (_mm256_store_ps(out + out_stride + kRow * kBlock, _mm512_extractf32x8_ps(sums[kRow], 1)), ...);
}

using MultiplyRowsWide = void (*)(const float*, int64_t, const float*, int64_t, const float*,
                                  float*, int64_t);

template <int... kRow>
constexpr MultiplyRowsWide with_rows(std::integer_sequence<int, kRow...> /*rows*/) {
  return multiply_rows_wide<kRow...>;
}

template <int... kCount>
constexpr std::array<MultiplyRowsWide, sizeof...(kCount)> by_rows(
    std::integer_sequence<int, kCount...> /*counts*/) {
  return {with_rows(std::make_integer_sequence<int, kCount + 1>())...};
}

constexpr auto kMultiplyRowsWide = by_rows(std::make_integer_sequence<int, kWideRows>());

}  // namespace

void panel_gemm_wide(const float* a, int64_t a_stride, int64_t rows, const float* b,
                     int64_t channels, const float* next, float* out, int64_t out_stride) {
  const int64_t groups = (rows + kWideRows - 1) / kWideRows;
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t begin = rows * group / groups;
    const int64_t count = rows * (group + 1) / groups - begin;
    kMultiplyRowsWide[static_cast<size_t>(count) - 1](a + begin * kBlock, a_stride, b, channels,
                                                      next, out + begin * kBlock, out_stride);
  }
}

}  // namespace trainyard::kernels::native
