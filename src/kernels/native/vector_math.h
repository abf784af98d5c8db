// Elementary functions of eight floats at once.
#pragma once

#include <immintrin.h>
#include <initializer_list>

namespace trainyard::kernels::native {

// exp(x) within two units in the last place for x in [-87, 88]; 0 below, the largest such number
// above. NaN stays NaN.
inline __m256 exp_vector(__m256 x) {
  const __m256 lowest = _mm256_set1_ps(-87.33654F);
  const __m256 highest = _mm256_set1_ps(88.37626F);
  const __m256 tiny = _mm256_cmp_ps(x, lowest, _CMP_LT_OQ);
  x = _mm256_min_ps(highest, _mm256_max_ps(lowest, x));
  // exp(x) = 2^n * exp(r), |r| <= ln(2) / 2; ln(2) in two parts, so that r is exact.
  const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504F)),
                                   _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375F), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4F), r);
  // Taylor's series to the seventh power: the rest is below 2^-26.
  __m256 p = _mm256_set1_ps(1.0F / 5040);
  for (const float c : {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F}) {
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(c));
  }
  const __m256i exponent =
      _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
  return _mm256_andnot_ps(tiny, _mm256_mul_ps(p, _mm256_castsi256_ps(exponent)));
}

// tanh(x) within four units in the last place. NaN stays NaN.
inline __m256 tanh_vector(__m256 x) {
  const __m256 one = _mm256_set1_ps(1.0F);
  // Far from zero 1 - 2 / (exp(2x) + 1); near zero that cancels, and x + x^3 p(x^2) takes over, p
  // fitted to an error below 2^-27.
  const __m256 far = _mm256_sub_ps(
      one,
      _mm256_div_ps(_mm256_set1_ps(2.0F), _mm256_add_ps(exp_vector(_mm256_add_ps(x, x)), one)));
  const __m256 square = _mm256_mul_ps(x, x);
  __m256 p = _mm256_set1_ps(-0.00571704246F);
  for (const float c : {0.0206505852F, -0.0537434975F, 0.133314913F, -0.333332839F}) {
    p = _mm256_fmadd_ps(p, square, _mm256_set1_ps(c));
  }
  const __m256 near = _mm256_fmadd_ps(_mm256_mul_ps(p, square), x, x);
  const __m256 magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0F), x);
  return _mm256_blendv_ps(far, near, _mm256_cmp_ps(magnitude, _mm256_set1_ps(0.625F), _CMP_LT_OQ));
}

inline float sum_of(__m256 v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

inline float max_of(__m256 v) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

}  // namespace trainyard::kernels::native
