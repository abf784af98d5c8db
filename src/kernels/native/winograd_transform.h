// The one-dimensional transforms of Winograd's minimal filtering F(m, 3), m = 2, 4, 6.
//
// y = A^T [(G g) * (B^T d)]: m outputs of a 3-tap filter from m + 2 multiplications. Two dimensions
// apply each transform to columns, then rows. Interpolation points: 0, 1, -1 (m = 2), then 2, -2
// (m = 4), then 1/2, -1/2 (m = 6), and infinity. Included by files compiled for AVX2 only.
#pragma once

#include <immintrin.h>

namespace trainyard::kernels::native {

inline __m256 splat(float value) {
  return _mm256_set1_ps(value);
}
inline __m256 plus(__m256 a, __m256 b) {
  return _mm256_add_ps(a, b);
}
inline __m256 minus(__m256 a, __m256 b) {
  return _mm256_sub_ps(a, b);
}
// factor * a + b
inline __m256 fused(float factor, __m256 a, __m256 b) {
  return _mm256_fmadd_ps(splat(factor), a, b);
}

template <int kOutputs>
struct Winograd;

template <>
struct Winograd<2> {
  static constexpr int kPoints = 4;
  static constexpr double kFilter[kPoints][3] = {
      {1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};

  static void input(const __m256 (&d)[kPoints], __m256 (&v)[kPoints]) {
    v[0] = minus(d[0], d[2]);
    v[1] = plus(d[1], d[2]);
    v[2] = minus(d[2], d[1]);
    v[3] = minus(d[3], d[1]);
  }
  static void output(const __m256 (&m)[kPoints], __m256 (&y)[2]) {
    y[0] = plus(plus(m[0], m[1]), m[2]);
    y[1] = plus(minus(m[1], m[2]), m[3]);
  }
};

template <>
struct Winograd<4> {
  static constexpr int kPoints = 6;
  static constexpr double kFilter[kPoints][3] = {{1.0 / 4, 0, 0},
                                                 {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                                 {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                                 {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                                 {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                                 {0, 0, 1}};

  static void input(const __m256 (&d)[kPoints], __m256 (&v)[kPoints]) {
    const __m256 even1 = fused(-4, d[2], d[4]);
    const __m256 odd1 = fused(-4, d[1], d[3]);
    const __m256 even2 = minus(d[4], d[2]);
    const __m256 odd2 = minus(d[3], d[1]);
    v[0] = fused(4, d[0], fused(-5, d[2], d[4]));
    v[1] = plus(even1, odd1);
    v[2] = minus(even1, odd1);
    v[3] = fused(2, odd2, even2);
    v[4] = fused(-2, odd2, even2);
    v[5] = fused(4, d[1], fused(-5, d[3], d[5]));
  }
  static void output(const __m256 (&m)[kPoints], __m256 (&y)[4]) {
    const __m256 sum1 = plus(m[1], m[2]);
    const __m256 difference1 = minus(m[1], m[2]);
    const __m256 sum2 = plus(m[3], m[4]);
    const __m256 difference2 = minus(m[3], m[4]);
    y[0] = plus(m[0], plus(sum1, sum2));
    y[1] = fused(2, difference2, difference1);
    y[2] = fused(4, sum2, sum1);
    y[3] = plus(m[5], fused(8, difference2, difference1));
  }
};

template <>
struct Winograd<6> {
  static constexpr int kPoints = 8;
  static constexpr double kFilter[kPoints][3] = {{1, 0, 0},
                                                 {-2.0 / 9, -2.0 / 9, -2.0 / 9},
                                                 {-2.0 / 9, 2.0 / 9, -2.0 / 9},
                                                 {1.0 / 90, 1.0 / 45, 2.0 / 45},
                                                 {1.0 / 90, -1.0 / 45, 2.0 / 45},
                                                 {32.0 / 45, 16.0 / 45, 8.0 / 45},
                                                 {32.0 / 45, -16.0 / 45, 8.0 / 45},
                                                 {0, 0, 1}};

  static void input(const __m256 (&d)[kPoints], __m256 (&v)[kPoints]) {
    const __m256 even1 = fused(-4.25F, d[4], plus(d[2], d[6]));
    const __m256 odd1 = fused(-4.25F, d[3], plus(d[1], d[5]));
    const __m256 even2 = fused(0.25F, d[2], fused(-1.25F, d[4], d[6]));
    const __m256 odd2 = fused(0.5F, d[1], fused(-2.5F, d[3], fused(2, d[5], splat(0))));
    const __m256 even3 = fused(4, d[2], fused(-5, d[4], d[6]));
    const __m256 odd3 = fused(2, d[1], fused(-2.5F, d[3], fused(0.5F, d[5], splat(0))));
    v[0] = plus(minus(d[0], d[6]), fused(5.25F, minus(d[4], d[2]), splat(0)));
    v[1] = plus(even1, odd1);
    v[2] = minus(even1, odd1);
    v[3] = plus(even2, odd2);
    v[4] = minus(even2, odd2);
    v[5] = plus(even3, odd3);
    v[6] = minus(even3, odd3);
    v[7] = fused(5.25F, minus(d[3], d[5]), minus(d[7], d[1]));
  }
  static void output(const __m256 (&m)[kPoints], __m256 (&y)[6]) {
    const __m256 sum1 = plus(m[1], m[2]);
    const __m256 difference1 = minus(m[1], m[2]);
    const __m256 sum2 = plus(m[3], m[4]);
    const __m256 difference2 = minus(m[3], m[4]);
    const __m256 sum3 = plus(m[5], m[6]);
    const __m256 difference3 = minus(m[5], m[6]);
    y[0] = plus(plus(m[0], sum1), plus(sum2, sum3));
    y[1] = fused(0.5F, difference3, fused(2, difference2, difference1));
    y[2] = fused(0.25F, sum3, fused(4, sum2, sum1));
    y[3] = fused(0.125F, difference3, fused(8, difference2, difference1));
    y[4] = fused(0.0625F, sum3, fused(16, sum2, sum1));
    y[5] = plus(m[7], fused(0.03125F, difference3, fused(32, difference2, difference1)));
  }
};

}  // namespace trainyard::kernels::native
