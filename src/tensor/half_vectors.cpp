#include "tensor/half_vectors.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace trainyard {

#if defined(__x86_64__)
namespace {

constexpr int64_t kLanes = 8;

[[gnu::target("avx,f16c")]] void widen(const uint16_t* from, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(bits));
  }
  for (; i < count; ++i) to[i] = f16_to_f32(from[i]);
}

[[gnu::target("avx,f16c")]] void narrow(const float* from, int64_t count, uint16_t* to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m128i bits = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), bits);
  }
  for (; i < count; ++i) to[i] = f32_to_f16(from[i]);
}

// __builtin_cpu_supports() of clang 14 does not know F16C.
bool has_f16c() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

bool can_convert() {
  static const bool kCan = __builtin_cpu_supports("avx") != 0 && has_f16c();
  return kCan;
}

}  // namespace

bool cast_halves(const TensorView& from, const TensorView& to) {
  const bool widens = from.dtype == DType::kF16 && to.dtype == DType::kF32;
  const bool narrows = from.dtype == DType::kF32 && to.dtype == DType::kF16;
  if ((!widens && !narrows) || !can_convert()) return false;
  if (widens) {
    widen(from.as<const uint16_t>(), from.num_elements(), to.as<float>());
  } else {
    narrow(from.as<const float>(), from.num_elements(), to.as<uint16_t>());
  }
  return true;
}
#else
bool cast_halves(const TensorView& /*from*/, const TensorView& /*to*/) {
  return false;
}
#endif

}  // namespace trainyard
