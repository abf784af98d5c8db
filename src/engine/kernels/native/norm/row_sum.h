// Sums, means and variances of numbers that lie one after the other.
#pragma once

#include <cstdint>

#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/vector_math.h"

namespace trainyard::kernels::native {

// Sum of f(vector) over the row; what does not fill two vectors is taken value by value.
template <typename F>
float sum_row(const float* x, int64_t count, const F& f) {
  __m256 first = _mm256_setzero_ps();
  __m256 second = _mm256_setzero_ps();
  int64_t i = 0;
  for (; i + 2 * kVector <= count; i += 2 * kVector) {
    first = _mm256_add_ps(first, f(_mm256_loadu_ps(x + i)));
    second = _mm256_add_ps(second, f(_mm256_loadu_ps(x + i + kVector)));
  }
  float sum = sum_of(_mm256_add_ps(first, second));
  for (; i < count; ++i) sum += _mm256_cvtss_f32(f(_mm256_set1_ps(x[i])));
  return sum;
}

struct RowMoments {
  float mean = 0;
  float variance = 0;
};

// Mean of the squares of distances from `mean`.
inline float mean_square(const float* x, int64_t count, float mean) {
  const __m256 means = _mm256_set1_ps(mean);
  const float sum = sum_row(x, count, [&](__m256 v) {
    const __m256 d = _mm256_sub_ps(v, means);
    return _mm256_mul_ps(d, d);
  });
  return sum / static_cast<float>(count);
}

// Two passes over a row that is in the cache after the first: the variance from differences does
// not cancel as E[x^2] - E[x]^2 does.
inline RowMoments row_moments(const float* x, int64_t count) {
  const float mean = sum_row(x, count, [](__m256 v) { return v; }) / static_cast<float>(count);
  return {mean, mean_square(x, count, mean)};
}

// The same about zero.
inline RowMoments row_square(const float* x, int64_t count) {
  return {0, mean_square(x, count, 0)};
}

}  // namespace trainyard::kernels::native
