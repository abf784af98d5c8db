// The one-dimensional transforms of Winograd's minimal filtering F(m, r): m outputs of an r-tap
// filter from m + r - 1 multiplications.
//
// y = A^T [(G g) * (B^T d)]. Data and filter are polynomials evaluated at m + r - 1 points, 0, 1,
// -1, then 2, -2, then 1/2, -1/2, and infinity; so B depends on the number of points only, and G
// and A hold powers of the points. Two dimensions apply each transform to columns, then rows.
// For vectors of 8 channels, and of 16 in files that are compiled for AVX-512.
#pragma once

#include "engine/kernels/native/vector_math.h"

namespace trainyard::kernels::native {

// As in vector_math.h.
#define TY_VECTOR [[gnu::always_inline]] inline

template <typename Vector>
TY_VECTOR Vector times(float factor, Vector a) {
  return times(same_in_all(a, factor), a);
}
// factor * a + b
template <typename Vector>
TY_VECTOR Vector fused(float factor, Vector a, Vector b) {
  return times_plus(same_in_all(a, factor), a, b);
}

// v = B^T d, and the scale of each row of G, by number of points.
template <int kPoints>
struct WinogradInput;

template <>
struct WinogradInput<4> {
  static constexpr double kScale[] = {1, 0.5, 0.5, 1};

  template <typename Vector>
  TY_VECTOR static void transform(const Vector (&d)[4], Vector (&v)[4]) {
    v[0] = minus(d[0], d[2]);
    v[1] = plus(d[1], d[2]);
    v[2] = minus(d[2], d[1]);
    v[3] = minus(d[3], d[1]);
  }
};

template <>
struct WinogradInput<6> {
  static constexpr double kScale[] = {1.0 / 4, -1.0 / 6, -1.0 / 6, 1.0 / 24, 1.0 / 24, 1};

  template <typename Vector>
  TY_VECTOR static void transform(const Vector (&d)[6], Vector (&v)[6]) {
    const Vector even1 = fused(-4, d[2], d[4]);
    const Vector odd1 = fused(-4, d[1], d[3]);
    const Vector even2 = minus(d[4], d[2]);
    const Vector odd2 = minus(d[3], d[1]);
    v[0] = fused(4, d[0], fused(-5, d[2], d[4]));
    v[1] = plus(even1, odd1);
    v[2] = minus(even1, odd1);
    v[3] = fused(2, odd2, even2);
    v[4] = fused(-2, odd2, even2);
    v[5] = fused(4, d[1], fused(-5, d[3], d[5]));
  }
};

template <>
struct WinogradInput<8> {
  static constexpr double kScale[] = {1,        -2.0 / 9,  -2.0 / 9,  1.0 / 90,
                                      1.0 / 90, 32.0 / 45, 32.0 / 45, 1};

  template <typename Vector>
  TY_VECTOR static void transform(const Vector (&d)[8], Vector (&v)[8]) {
    const Vector even1 = fused(-4.25F, d[4], plus(d[2], d[6]));
    const Vector odd1 = fused(-4.25F, d[3], plus(d[1], d[5]));
    const Vector even2 = fused(0.25F, d[2], fused(-1.25F, d[4], d[6]));
    const Vector odd2 = fused(0.5F, d[1], fused(-2.5F, d[3], times(2, d[5])));
    const Vector even3 = fused(4, d[2], fused(-5, d[4], d[6]));
    const Vector odd3 = fused(2, d[1], fused(-2.5F, d[3], times(0.5F, d[5])));
    v[0] = fused(5.25F, minus(d[4], d[2]), minus(d[0], d[6]));
    v[1] = plus(even1, odd1);
    v[2] = minus(even1, odd1);
    v[3] = plus(even2, odd2);
    v[4] = minus(even2, odd2);
    v[5] = plus(even3, odd3);
    v[6] = minus(even3, odd3);
    v[7] = fused(5.25F, minus(d[3], d[5]), minus(d[7], d[1]));
  }
};

// The positive points; each stands for itself and its negative, in this order, after zero.
inline constexpr double kWinogradPairs[] = {1, 2, 0.5};

TY_VECTOR constexpr double winograd_power(double base, int exponent) {
  double result = 1;
  for (int i = 0; i < exponent; ++i) result *= base;
  return result;
}

// G[point][tap] of a filter of `taps`.
template <int kPoints>
TY_VECTOR constexpr double winograd_filter(int point, int tap, int taps) {
  const double scale = WinogradInput<kPoints>::kScale[point];
  if (point == 0) return tap == 0 ? scale : 0;
  if (point == kPoints - 1) return tap == taps - 1 ? scale : 0;
  const double value = kWinogradPairs[(point - 1) / 2] * (point % 2 == 1 ? 1 : -1);
  return scale * winograd_power(value, tap);
}

// Values of the polynomial with coefficients g at the points, each times scale(point).
template <int kTaps, int kPoints, typename Vector, typename Scale>
TY_VECTOR void winograd_evaluate(const Vector (&g)[kTaps], Vector (&u)[kPoints], Scale scale) {
  u[0] = times(static_cast<float>(scale(0)), g[0]);
  u[kPoints - 1] = times(static_cast<float>(scale(kPoints - 1)), g[kTaps - 1]);
  for (int pair = 0; pair < (kPoints - 2) / 2; ++pair) {
    const auto factor = [&](int tap) {
      return static_cast<float>(scale(2 * pair + 1) * winograd_power(kWinogradPairs[pair], tap));
    };
    Vector even = times(factor(0), g[0]);
    Vector odd = times(factor(1), g[1]);
    for (int tap = 2; tap < kTaps; ++tap) {
      Vector& sum = tap % 2 == 0 ? even : odd;
      sum = fused(factor(tap), g[tap], sum);
    }
    u[2 * pair + 1] = plus(even, odd);
    u[2 * pair + 2] = minus(even, odd);
  }
}

// The transpose of that: one sum per tap.
template <int kTaps, int kPoints, typename Vector, typename Scale>
TY_VECTOR void winograd_gather(const Vector (&m)[kPoints], Vector (&y)[kTaps], Scale scale) {
  constexpr int kPairs = (kPoints - 2) / 2;
  Vector sums[kPairs];
  Vector differences[kPairs];
  for (int pair = 0; pair < kPairs; ++pair) {
    sums[pair] = plus(m[2 * pair + 1], m[2 * pair + 2]);
    differences[pair] = minus(m[2 * pair + 1], m[2 * pair + 2]);
  }
  for (int i = 0; i < kTaps; ++i) {
    const auto factor = [&](int pair) {
      return static_cast<float>(scale(2 * pair + 1) * winograd_power(kWinogradPairs[pair], i));
    };
    const auto& terms = i % 2 == 0 ? sums : differences;
    Vector value = times(factor(0), terms[0]);
    for (int pair = 1; pair < kPairs; ++pair) value = fused(factor(pair), terms[pair], value);
    if (i == 0) value = fused(static_cast<float>(scale(0)), m[0], value);
    if (i == kTaps - 1)
      value = fused(static_cast<float>(scale(kPoints - 1)), m[kPoints - 1], value);
    y[i] = value;
  }
}

template <int kPoints>
TY_VECTOR constexpr double winograd_scale(int point) {
  return WinogradInput<kPoints>::kScale[point];
}

// u = G g.
template <int kTaps, int kPoints, typename Vector>
TY_VECTOR void winograd_filter_transform(const Vector (&g)[kTaps], Vector (&u)[kPoints]) {
  winograd_evaluate(g, u, winograd_scale<kPoints>);
}

// g = G^T u: from the gradient of the transformed filter to that of the filter.
template <int kTaps, int kPoints, typename Vector>
TY_VECTOR void winograd_filter_gradient(const Vector (&u)[kPoints], Vector (&g)[kTaps]) {
  winograd_gather(u, g, winograd_scale<kPoints>);
}

// m = A y: from the gradient of the outputs to that of the products.
template <int kOutputs, int kPoints, typename Vector>
TY_VECTOR void winograd_output_gradient(const Vector (&y)[kOutputs], Vector (&m)[kPoints]) {
  winograd_evaluate(y, m, [](int) { return 1.0; });
}

// y = A^T m.
template <int kOutputs, int kPoints, typename Vector>
TY_VECTOR void winograd_output(const Vector (&m)[kPoints], Vector (&y)[kOutputs]) {
  constexpr int kPairs = (kPoints - 2) / 2;
  Vector sums[kPairs];
  Vector differences[kPairs];
  for (int pair = 0; pair < kPairs; ++pair) {
    sums[pair] = plus(m[2 * pair + 1], m[2 * pair + 2]);
    differences[pair] = minus(m[2 * pair + 1], m[2 * pair + 2]);
  }
  for (int i = 0; i < kOutputs; ++i) {
    Vector value = i % 2 == 0 ? sums[0] : differences[0];
    for (int pair = 1; pair < kPairs; ++pair) {
      const auto factor = static_cast<float>(winograd_power(kWinogradPairs[pair], i));
      value = fused(factor, i % 2 == 0 ? sums[pair] : differences[pair], value);
    }
    if (i == 0) value = plus(value, m[0]);
    if (i == kOutputs - 1) value = plus(value, m[kPoints - 1]);
    y[i] = value;
  }
}

#undef TY_VECTOR

}  // namespace trainyard::kernels::native
