#include "engine/kernels/native/norm/softmax_rows.h"

#include <cmath>
#include <limits>

#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/vector_math.h"

namespace trainyard::kernels::native {

bool softmax_rows_possible() {
  return cpu_has_avx2_fma();
}

void softmax_row(float* row, int64_t count) {
  const int64_t whole = count / kVector * kVector;
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  __m256 most = _mm256_set1_ps(kLowest);
  for (int64_t i = 0; i < whole; i += kVector) most = _mm256_max_ps(most, _mm256_loadu_ps(row + i));
  float largest = max_of(most);
  for (int64_t i = whole; i < count; ++i) largest = std::fmax(largest, row[i]);
  if (largest == kLowest) {
    for (int64_t i = 0; i < count; ++i) row[i] = 0;
    return;
  }
  const __m256 shift = _mm256_set1_ps(largest);
  __m256 sums = _mm256_setzero_ps();
  for (int64_t i = 0; i < whole; i += kVector) {
    const __m256 e = exp_vector(_mm256_sub_ps(_mm256_loadu_ps(row + i), shift));
    _mm256_storeu_ps(row + i, e);
    sums = _mm256_add_ps(sums, e);
  }
  float sum = sum_of(sums);
  for (int64_t i = whole; i < count; ++i) {
    row[i] = std::exp(row[i] - largest);
    sum += row[i];
  }
  const __m256 share = _mm256_set1_ps(1 / sum);
  for (int64_t i = 0; i < whole; i += kVector) {
    _mm256_storeu_ps(row + i, _mm256_mul_ps(_mm256_loadu_ps(row + i), share));
  }
  for (int64_t i = whole; i < count; ++i) row[i] /= sum;
}

}  // namespace trainyard::kernels::native
