#include "kernels/native/peak.h"

#include <immintrin.h>
#include <initializer_list>

#include "kernels/native/cpu.h"

namespace trainyard::kernels::native {
namespace {

// Two multiply-adds per cycle with a latency of four or five need ten sums in flight.
constexpr int kSums = 12;

void keep(float value) {
  asm volatile("" : : "x"(value));
}

}  // namespace

void fma_loop(int64_t rounds) {
  if (cpu_has_avx2_fma()) {
    const __m256 factor = _mm256_set1_ps(0.999F);
    __m256 a = factor, b = factor, c = factor, d = factor, e = factor, f = factor;
    __m256 g = factor, h = factor, i = factor, j = factor, k = factor, l = factor;
    // Named one by one, since an array of sums would go through memory.
    for (int64_t round = 0; round < rounds; ++round) {
      a = _mm256_fmadd_ps(a, factor, factor);
      b = _mm256_fmadd_ps(b, factor, factor);
      c = _mm256_fmadd_ps(c, factor, factor);
      d = _mm256_fmadd_ps(d, factor, factor);
      e = _mm256_fmadd_ps(e, factor, factor);
      f = _mm256_fmadd_ps(f, factor, factor);
      g = _mm256_fmadd_ps(g, factor, factor);
      h = _mm256_fmadd_ps(h, factor, factor);
      i = _mm256_fmadd_ps(i, factor, factor);
      j = _mm256_fmadd_ps(j, factor, factor);
      k = _mm256_fmadd_ps(k, factor, factor);
      l = _mm256_fmadd_ps(l, factor, factor);
      // All are the same number: without this the compiler would compute one of them.
      asm volatile("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d), "+x"(e), "+x"(f));
      asm volatile("" : "+x"(g), "+x"(h), "+x"(i), "+x"(j), "+x"(k), "+x"(l));
    }
    for (const __m256& sum : {a, b, c, d, e, f, g, h, i, j, k, l}) keep(_mm256_cvtss_f32(sum));
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
  return 2.0 * kSums * static_cast<double>(cpu_has_avx2_fma() ? kVector : 1) *
         static_cast<double>(rounds);
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
