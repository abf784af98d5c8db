#include "engine/kernels/native/peak.h"

#include <cmath>
#include <initializer_list>

#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/int8/byte_kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace trainyard::kernels::native {
namespace {

// Two multiply-adds per cycle with a latency of four or five need ten sums in flight.
constexpr int kSums = 12;

void keep(float value) {
#if defined(__x86_64__)
  asm volatile("" : : "x"(value));
#else
  asm volatile("" : : "m"(value));
#endif
}

#if defined(__x86_64__)

// Sums are named one by one, since an array of them would go through memory; and all are the same
// number, so without the empty assembly the compiler would compute one of them.
#define TY_FMA_ROUNDS(Vector, set1, fmadd, first)                                \
  const Vector factor = set1(0.999F);                                            \
  Vector a = factor, b = factor, c = factor, d = factor, e = factor, f = factor; \
  Vector g = factor, h = factor, i = factor, j = factor, k = factor, l = factor; \
  for (int64_t round = 0; round < rounds; ++round) {                             \
    a = fmadd(a, factor, factor);                                                \
    b = fmadd(b, factor, factor);                                                \
    c = fmadd(c, factor, factor);                                                \
    d = fmadd(d, factor, factor);                                                \
    e = fmadd(e, factor, factor);                                                \
    f = fmadd(f, factor, factor);                                                \
    g = fmadd(g, factor, factor);                                                \
    h = fmadd(h, factor, factor);                                                \
    i = fmadd(i, factor, factor);                                                \
    j = fmadd(j, factor, factor);                                                \
    k = fmadd(k, factor, factor);                                                \
    l = fmadd(l, factor, factor);                                                \
    asm volatile("" : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e), "+v"(f));     \
    asm volatile("" : "+v"(g), "+v"(h), "+v"(i), "+v"(j), "+v"(k), "+v"(l));     \
  }                                                                              \
  for (const Vector& sum : {a, b, c, d, e, f, g, h, i, j, k, l}) keep(first(sum))

void fma_rounds_8(int64_t rounds) {
  TY_FMA_ROUNDS(__m256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_cvtss_f32);
}

// oneDNN uses vectors of 16 where the processor has them, so they are part of its peak.
__attribute__((target("avx512f"))) void fma_rounds_16(int64_t rounds) {
  TY_FMA_ROUNDS(__m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_cvtss_f32);
}

#define TY_ADD_PAIRS(sum, a, b) _mm512_dpbf16_ps(sum, (__m512bh)(a), (__m512bh)(b))

__attribute__((target("avx512f,avx512bf16"))) void bf16_rounds(int64_t rounds) {
  TY_FMA_ROUNDS(__m512, _mm512_set1_ps, TY_ADD_PAIRS, _mm512_cvtss_f32);
}

#undef TY_ADD_PAIRS
#undef TY_FMA_ROUNDS

#else

// In whatever vectors the compiler finds.
void fma_rounds_8(int64_t rounds) {
  constexpr float kFactor = 0.999F;
  float sums[kSums * kVector];
  for (float& sum : sums) sum = kFactor;
  for (int64_t i = 0; i < rounds; ++i) {
    for (float& sum : sums) sum = std::fma(sum, kFactor, kFactor);
  }
  for (const float sum : sums) keep(sum);
}

#endif

void fma_rounds_1(int64_t rounds) {
  float sums[kSums];
  for (float& sum : sums) sum = 1.0F;
  for (int64_t i = 0; i < rounds; ++i) {
    for (float& sum : sums) sum = sum * 0.999F + 0.999F;
  }
  for (const float sum : sums) keep(sum);
}

int64_t widest_vector() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0) return 16;
#endif
  return cpu_has_avx2_fma() ? kVector : 1;
}

}  // namespace

bool wide_vectors_pay() {
#if defined(__x86_64__)
  if (widest_vector() != 16) return false;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return true;
  const unsigned family = ((eax >> 8U) & 0xfU) + ((eax >> 20U) & 0xffU);
  constexpr unsigned kInHalves = 0x19;  // Zen 4
  return !(__builtin_cpu_is("amd") && family == kInHalves);
#else
  return false;
#endif
}

void fma_loop(int64_t rounds) {
  switch (widest_vector()) {
#if defined(__x86_64__)
    case 16:
      return fma_rounds_16(rounds);
#endif
    case kVector:
      return fma_rounds_8(rounds);
    default:
      return fma_rounds_1(rounds);
  }
}

double fma_loop_flops(int64_t rounds) {
  return 2.0 * kSums * static_cast<double>(widest_vector() * rounds);
}

void bf16_loop(int64_t rounds) {
#if defined(__x86_64__)
  bf16_rounds(rounds);
#else
  fma_loop(rounds);
#endif
}

double bf16_loop_flops(int64_t rounds) {
  constexpr int64_t kInVector = 32;
  return 2.0 * kSums * static_cast<double>(kInVector * rounds);
}

void byte_loop(int64_t rounds) {
  byte_kernels().peak(rounds);
}

double byte_loop_operations(int64_t rounds) {
  return 2.0 * static_cast<double>(byte_kernels().peak_products * rounds);
}

void sum_loop(const float* values, int64_t count) {
  constexpr int64_t kSumLanes = 64;  // eight vectors in flight
  float sums[kSumLanes] = {};
  for (int64_t i = 0; i + kSumLanes <= count; i += kSumLanes) {
    for (int64_t j = 0; j < kSumLanes; ++j) sums[j] += values[i + j];
  }
  for (const float sum : sums) keep(sum);
}

}  // namespace trainyard::kernels::native
