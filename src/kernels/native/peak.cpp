#include "kernels/native/peak.h"

#include <immintrin.h>

#include "kernels/native/cpu.h"

namespace trainyard::kernels::native {
namespace {

// Two multiply-adds per cycle with a latency of four or five need ten sums in flight.
constexpr int kSums = 12;
constexpr int kVector = 8;

void keep(float value) {
  asm volatile("" : : "x"(value));
}

}  // namespace

void fma_loop(int64_t rounds) {
  if (cpu_has_avx2_fma()) {
    __m256 sums[kSums];
    for (__m256& sum : sums) sum = _mm256_set1_ps(1.0F);
    const __m256 factor = _mm256_set1_ps(0.999F);
    for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
      for (__m256& sum : sums) {
        sum = _mm256_fmadd_ps(sum, factor, factor);
        asm volatile("" : "+x"(sum));
      }
    }
    for (const __m256& sum : sums) keep(_mm256_cvtss_f32(sum));
    return;
  }
  float sums[kSums];
  for (float& sum : sums) sum = 1.0F;
  for (int64_t i = 0; i < rounds; ++i) {
    for (float& sum : sums) sum = sum * 0.999F + 0.999F;
  }
  for (const float sum : sums) keep(sum);
}

double fma_loop_flops(int64_t rounds) {
  return 2.0 * kSums * (cpu_has_avx2_fma() ? kVector : 1) * static_cast<double>(rounds);
}

void sum_loop(const float* values, int64_t count) {
  constexpr int64_t kLanes = 64;  // eight vectors in flight
  float sums[kLanes] = {};
  for (int64_t i = 0; i + kLanes <= count; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) sums[j] += values[i + j];
  }
  for (const float sum : sums) keep(sum);
}

}  // namespace trainyard::kernels::native
