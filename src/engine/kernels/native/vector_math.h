// Elementary functions of eight floats at once, and of sixteen in files that are compiled for
// AVX-512.
#pragma once

#include <initializer_list>

#include "engine/kernels/native/vectors.h"

namespace trainyard::kernels::native {

// What the functions below need of a vector, once for each width. Always inlined: a file that is
// compiled for newer processors must not leave behind a copy that others call.
#define TY_VECTOR [[gnu::always_inline]] inline

TY_VECTOR __m256 same_in_all(__m256 /*like*/, float value) {
  return _mm256_set1_ps(value);
}
TY_VECTOR __m256 plus(__m256 a, __m256 b) {
  return _mm256_add_ps(a, b);
}
TY_VECTOR __m256 minus(__m256 a, __m256 b) {
  return _mm256_sub_ps(a, b);
}
TY_VECTOR __m256 times(__m256 a, __m256 b) {
  return _mm256_mul_ps(a, b);
}
TY_VECTOR __m256 over(__m256 a, __m256 b) {
  return _mm256_div_ps(a, b);
}
// The second operand where one is NaN.
TY_VECTOR __m256 smaller(__m256 a, __m256 b) {
  return _mm256_min_ps(a, b);
}
TY_VECTOR __m256 larger(__m256 a, __m256 b) {
  return _mm256_max_ps(a, b);
}
// a * b + c and c - a * b, rounded once.
TY_VECTOR __m256 times_plus(__m256 a, __m256 b, __m256 c) {
  return _mm256_fmadd_ps(a, b, c);
}
TY_VECTOR __m256 minus_times(__m256 a, __m256 b, __m256 c) {
  return _mm256_fnmadd_ps(a, b, c);
}
TY_VECTOR __m256 to_whole(__m256 x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
TY_VECTOR __m256 magnitude_of(__m256 x) {
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), x);
}
// p times two to the power of n, whole numbers.
TY_VECTOR __m256 times_power_of_two(__m256 p, __m256 n) {
  const __m256i exponent =
      _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
  return _mm256_mul_ps(p, _mm256_castsi256_ps(exponent));
}
// a < b ? yes : no; `no` for NaN.
TY_VECTOR __m256 where_less(__m256 a, __m256 b, __m256 yes, __m256 no) {
  return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}

#ifdef __AVX512F__
TY_VECTOR __m512 same_in_all(__m512 /*like*/, float value) {
  return _mm512_set1_ps(value);
}
TY_VECTOR __m512 plus(__m512 a, __m512 b) {
  return _mm512_add_ps(a, b);
}
TY_VECTOR __m512 minus(__m512 a, __m512 b) {
  return _mm512_sub_ps(a, b);
}
TY_VECTOR __m512 times(__m512 a, __m512 b) {
  return _mm512_mul_ps(a, b);
}
TY_VECTOR __m512 over(__m512 a, __m512 b) {
  return _mm512_div_ps(a, b);
}
TY_VECTOR __m512 smaller(__m512 a, __m512 b) {
  return _mm512_min_ps(a, b);
}
TY_VECTOR __m512 larger(__m512 a, __m512 b) {
  return _mm512_max_ps(a, b);
}
TY_VECTOR __m512 times_plus(__m512 a, __m512 b, __m512 c) {
  return _mm512_fmadd_ps(a, b, c);
}
TY_VECTOR __m512 minus_times(__m512 a, __m512 b, __m512 c) {
  return _mm512_fnmadd_ps(a, b, c);
}
TY_VECTOR __m512 to_whole(__m512 x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
TY_VECTOR __m512 magnitude_of(__m512 x) {
  return _mm512_abs_ps(x);
}
TY_VECTOR __m512 times_power_of_two(__m512 p, __m512 n) {
  return _mm512_scalef_ps(p, n);
}
TY_VECTOR __m512 where_less(__m512 a, __m512 b, __m512 yes, __m512 no) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
}
#endif

// c[0] x^n + c[1] x^(n - 1) + …
template <typename V>
TY_VECTOR V polynomial(V x, std::initializer_list<float> c) {
  V sum = same_in_all(x, *c.begin());
  for (const float* next = c.begin() + 1; next != c.end(); ++next) {
    sum = times_plus(sum, x, same_in_all(x, *next));
  }
  return sum;
}

// exp(x) within two units in the last place for x in [-87, 88]; 0 below, the largest such number
// above. NaN stays NaN.
template <typename V>
TY_VECTOR V exp_vector(V given) {
  const V lowest = same_in_all(given, -87.33654F);
  const V x = smaller(same_in_all(given, 88.37626F), larger(lowest, given));
  // exp(x) = 2^n * exp(r), |r| <= ln(2) / 2; ln(2) in two parts, so that r is exact.
  const V n = to_whole(times(x, same_in_all(x, 1.44269504F)));
  V r = minus_times(n, same_in_all(x, 0.693359375F), x);
  r = minus_times(n, same_in_all(x, -2.12194440e-4F), r);
  // Taylor's series to the seventh power: the rest is below 2^-26.
  const V p =
      polynomial(r, {1.0F / 5040, 1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F});
  return where_less(given, lowest, same_in_all(x, 0.0F), times_power_of_two(p, n));
}

// x, or the nearer of -limit and limit beyond them. NaN stays NaN.
template <typename V>
TY_VECTOR V within(V x, float limit) {
  return smaller(same_in_all(x, limit), larger(same_in_all(x, -limit), x));
}

// tanh(x) within six units in the last place, never beyond 1. NaN stays NaN.
template <typename V>
TY_VECTOR V tanh_vector(V given) {
  // From here on tanh(x) is 1 in single precision.
  const V x = within(given, 9.01F);
  const V square = times(x, x);
  // x p(x^2) / q(x^2), fitted to a relative error below 2^-25. All terms are positive: none cancel.
  const V p =
      polynomial(square, {1.33187639e-08F, 2.05832529e-05F, 3.4940206e-03F, 0.133797062F, 1.0F});
  const V q =
      polynomial(square, {7.76189131e-07F, 3.28307003e-04F, 2.58710202e-02F, 0.467130215F, 1.0F});
  return within(over(times(x, p), q), 1.0F);
}

template <typename V>
TY_VECTOR V sigmoid_vector(V x) {
  const V one = same_in_all(x, 1.0F);
  return over(one, plus(one, exp_vector(minus(same_in_all(x, 0.0F), x))));
}

// x times x / 6 + 1 / 2 within 0 and 1.
template <typename V>
TY_VECTOR V hard_swish_vector(V x) {
  const V line = times_plus(x, same_in_all(x, 1.0F / 6.0F), same_in_all(x, 0.5F));
  return times(x, smaller(same_in_all(x, 1.0F), larger(same_in_all(x, 0.0F), line)));
}

// Of the normal distribution at x: what lies below, within 1e-7, and exp(-x^2 / 2).
template <typename V>
struct NormalAt {
  V below;
  V bell;
};

// erfc of a magnitude z is exp(-z^2) times a polynomial of 1 / (1 + p z) (Abramowitz and Stegun,
// 7.1.26).
template <typename V>
TY_VECTOR NormalAt<V> normal_vector(V x) {
  const V one = same_in_all(x, 1.0F);
  const V z = times(magnitude_of(x), same_in_all(x, 0.707106781F));
  const V t = over(one, times_plus(z, same_in_all(x, 0.3275911F), one));
  const V bell = exp_vector(minus_times(z, z, same_in_all(x, 0.0F)));
  const V tail = times(
      polynomial(t, {1.061405429F, -1.453152027F, 1.421413741F, -0.284496736F, 0.254829592F, 0.0F}),
      bell);
  const V half = times(tail, same_in_all(x, 0.5F));
  return {where_less(x, same_in_all(x, 0.0F), half, minus(one, half)), bell};
}

// Gelu by the error function, within 2e-7 of the larger of 1 and |x|, and its derivative.
template <typename V>
TY_VECTOR V gelu_vector(V x) {
  return times(x, normal_vector(x).below);
}
template <typename V>
TY_VECTOR V gelu_slope_vector(V x) {
  const NormalAt<V> normal = normal_vector(x);
  return times_plus(times(x, same_in_all(x, 0.398942280F)), normal.bell, normal.below);
}

// Gelu by tanh: x / (1 + exp(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3).
template <typename V>
TY_VECTOR V gelu_by_tanh_vector(V x) {
  const V inner = times_plus(times(x, x), same_in_all(x, 0.044715F), same_in_all(x, 1.0F));
  return times(x, sigmoid_vector(times(times(x, inner), same_in_all(x, 1.59576912F))));
}

// Its derivative: s + x s (1 - s) (2 u)' with s = 1 / (1 + exp(-2 u)).
template <typename V>
TY_VECTOR V gelu_by_tanh_slope_vector(V x) {
  const V one = same_in_all(x, 1.0F);
  const V square = times(x, x);
  const V scaled = times(x, same_in_all(x, 1.59576912F));
  const V s = sigmoid_vector(times(scaled, times_plus(square, same_in_all(x, 0.044715F), one)));
  const V steep = times(scaled, times_plus(square, same_in_all(x, 0.134145F), one));
  return times_plus(times(s, minus(one, s)), steep, s);
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

#undef TY_VECTOR

}  // namespace trainyard::kernels::native
