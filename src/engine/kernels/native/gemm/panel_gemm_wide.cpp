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

// Two vectors of the panels share each broadcast, which a vector alone would wait for.
template <int... kRow>
void multiply_rows_by_pair(const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                           int64_t channels, const float* next, float* out, int64_t out_stride) {
  __m512 first[] = {(static_cast<void>(kRow), _mm512_setzero_ps())...};
  __m512 second[] = {(static_cast<void>(kRow), _mm512_setzero_ps())...};
  const auto add_row = [&](int row, float value, __m512 left, __m512 right) {
    const __m512 factor = _mm512_set1_ps(value);
    first[row] = _mm512_fmadd_ps(factor, left, first[row]);
    second[row] = _mm512_fmadd_ps(factor, right, second[row]);
  };
  const auto add_channel = [&](const float* x) {
    const __m512 left = _mm512_loadu_ps(b);
    const __m512 right = _mm512_loadu_ps(b + b_stride);
    (add_row(kRow, x[kRow * kBlock], left, right), ...);
    b += kPanelWidth;
    _mm_prefetch(reinterpret_cast<const char*>(next), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(next + b_stride), _MM_HINT_T0);
    next += kPanelWidth;
  };
  for (; channels >= kBlock; channels -= kBlock, a += a_stride) {
    for (int64_t c = 0; c < kBlock; ++c) add_channel(a + c);
  }
  for (; channels > 0; --channels, ++a) add_channel(a);
  const auto store = [&](int row, __m512 value, float* to) {
    _mm256_store_ps(to + row * kBlock, _mm512_castps512_ps256(value));
    _mm256_store_ps(to + out_stride + row * kBlock, _mm512_extractf32x8_ps(value, 1));
  };
  (store(kRow, first[kRow], out), ...);
  (store(kRow, second[kRow], out + 2 * out_stride), ...);
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

using MultiplyRowsByPair = void (*)(const float*, int64_t, const float*, int64_t, int64_t,
                                    const float*, float*, int64_t);

template <int... kRow>
constexpr MultiplyRowsByPair pair_with_rows(std::integer_sequence<int, kRow...> /*rows*/) {
  return multiply_rows_by_pair<kRow...>;
}

template <int... kCount>
constexpr std::array<MultiplyRowsByPair, sizeof...(kCount)> pair_by_rows(
    std::integer_sequence<int, kCount...> /*counts*/) {
  return {pair_with_rows(std::make_integer_sequence<int, kCount + 1>())...};
}

constexpr auto kMultiplyRowsByPair = pair_by_rows(std::make_integer_sequence<int, kWideRows>());

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

void panel_pair_gemm_wide(const float* a, int64_t a_stride, int64_t rows, const float* b,
                          int64_t b_stride, int64_t channels, const float* next, float* out,
                          int64_t out_stride) {
  const int64_t groups = (rows + kWideRows - 1) / kWideRows;
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t begin = rows * group / groups;
    const int64_t count = rows * (group + 1) / groups - begin;
    kMultiplyRowsByPair[static_cast<size_t>(count) - 1](a + begin * kBlock, a_stride, b, b_stride,
                                                        channels, next, out + begin * kBlock,
                                                        out_stride);
  }
}

}  // namespace trainyard::kernels::native
