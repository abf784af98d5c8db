// Compiled for AVX-512: nothing here may be shared with files that are not, so there are no
// functions but local ones and one that hands them out.
#include "engine/kernels/native/conv/winograd_wide.h"

#include "engine/kernels/native/conv/winograd_transform.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kPixel = 16;

[[gnu::always_inline]] inline __m512 load_halves(const float* first, int64_t half) {
  const __m512 low = _mm512_castps256_ps512(_mm256_load_ps(first));
  return _mm512_insertf32x8(low, _mm256_load_ps(first + half), 1);
}

[[gnu::always_inline]] inline void store_halves(float* first, int64_t half, __m512 value) {
  _mm256_store_ps(first, _mm512_castps512_ps256(value));
  _mm256_store_ps(first + half, _mm512_extractf32x8_ps(value, 1));
}

template <int kPoints, bool kWhole>
[[gnu::always_inline]] inline void transform_input(const float* const* rows, int64_t left,
                                                   int64_t right, WideStrides strides, float* v) {
  __m512 columns[kPoints][kPoints];
  for (int j = 0; j < kPoints; ++j) {
    __m512 column[kPoints];
    __m512 result[kPoints];
    if (kWhole || (left <= j && j < right)) {
      for (int i = 0; i < kPoints; ++i) column[i] = _mm512_loadu_ps(rows[i] + j * kPixel);
      WinogradInput<kPoints>::transform(column, result);
      for (int i = 0; i < kPoints; ++i) columns[i][j] = result[i];
    } else {
      for (int i = 0; i < kPoints; ++i) columns[i][j] = _mm512_setzero_ps();
    }
  }
  for (int i = 0; i < kPoints; ++i) {
    __m512 result[kPoints];
    WinogradInput<kPoints>::transform(columns[i], result);
    for (int j = 0; j < kPoints; ++j, v += strides.point) store_halves(v, strides.half, result[j]);
  }
}

template <int kPoints>
void input_of(const float* const* rows, int64_t left, int64_t right, WideStrides strides,
              float* v) {
  if (left <= 0 && right >= kPoints) {
    transform_input<kPoints, true>(rows, left, right, strides, v);
  } else {
    transform_input<kPoints, false>(rows, left, right, strides, v);
  }
}

template <int kOutputs, int kPoints, bool kWhole>
[[gnu::always_inline]] inline void store_output(const WideOutput& output) {
  __m512 half[kOutputs][kPoints];
  for (int j = 0; j < kPoints; ++j) {
    __m512 column[kPoints];
    __m512 result[kOutputs];
    for (int i = 0; i < kPoints; ++i) {
      column[i] = load_halves(output.products + (i * kPoints + j) * output.strides.point,
                              output.strides.half);
    }
    winograd_output(column, result);
    for (int i = 0; i < kOutputs; ++i) half[i][j] = result[i];
  }
  const __m512 low = _mm512_set1_ps(output.low);
  const __m512 high = _mm512_set1_ps(output.high);
  const __m512 bias = _mm512_loadu_ps(output.bias);
  const float* const residual = output.residual;
  float* const dst = output.dst;
  const int64_t row_stride = output.row_stride;
  for (int i = 0; i < kOutputs; ++i) {
    if (!kWhole && i >= output.rows) return;
    __m512 result[kOutputs];
    winograd_output(half[i], result);
    for (int j = 0; j < kOutputs; ++j) {
      if (!kWhole && j >= output.columns) break;
      const int64_t at = i * row_stride + j * kPixel;
      __m512 y = plus(result[j], bias);
      if (residual != nullptr) y = plus(y, _mm512_loadu_ps(residual + at));
      _mm512_storeu_ps(dst + at, smaller(high, larger(low, y)));
    }
  }
}

template <int kOutputs, int kPoints>
void output_of(const WideOutput& output) {
  if (output.rows >= kOutputs && output.columns >= kOutputs) {
    store_output<kOutputs, kPoints, true>(output);
  } else {
    store_output<kOutputs, kPoints, false>(output);
  }
}

template <int kOutputs, int kPoints>
WideWinogradTile make_tile() {
  return {input_of<kPoints>, output_of<kOutputs, kPoints>};
}

}  // namespace

WideWinogradTile wide_winograd_tile(int64_t outputs, int64_t points) {
  if (outputs == 2) return points == 4 ? make_tile<2, 4>() : make_tile<2, 6>();
  if (outputs == 4) return points == 6 ? make_tile<4, 6>() : make_tile<4, 8>();
  return make_tile<6, 8>();
}

}  // namespace trainyard::kernels::native
