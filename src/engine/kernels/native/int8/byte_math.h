// Loops over runs of bytes with AVX2, rounding as ops::to_byte() does.
#pragma once

#include <cstdint>

#include "engine/kernels/native/vectors.h"
#include "ops/quantize/quantized.h"

namespace trainyard::kernels::native {

inline constexpr int64_t kByteVector = 32;

// Eight bytes as floats.
inline __m256 load_eight_bytes(const uint8_t* from) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}

// Turns four vectors of steps into 32 bytes.
class StepsToVector {
 public:
  explicit StepsToVector(const ops::StepsToBytes& bytes)
      : low_(_mm256_set1_ps(static_cast<float>(bytes.low - bytes.zero))),
        high_(_mm256_set1_ps(static_cast<float>(bytes.high - bytes.zero))),
        zero_(_mm256_set1_epi32(static_cast<int32_t>(bytes.zero))) {}

  __m256i operator()(__m256 a, __m256 b, __m256 c, __m256 d) const {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i ab = _mm256_packs_epi32(ints(a), ints(b));
    const __m256i cd = _mm256_packs_epi32(ints(c), ints(d));
    return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), order);
  }

 private:
  // Clamped before they are rounded, which gives the same, since both ends are whole, and keeps
  // large numbers from overflowing. The first operand of max() may be NaN.
  __m256i ints(__m256 steps) const {
    const __m256 kept = _mm256_min_ps(_mm256_max_ps(steps, low_), high_);
    return _mm256_add_epi32(_mm256_cvtps_epi32(kept), zero_);
  }
  __m256 low_;
  __m256 high_;
  __m256i zero_;
};

// y[i] = bytes of steps(i), where vector(i) gives eight of them from i on and one(i) a single one.
template <typename Vector, typename One>
void store_steps(int64_t count, const ops::StepsToBytes& bytes, uint8_t* y, const Vector& vector,
                 const One& one) {
  const StepsToVector convert(bytes);
  int64_t i = 0;
  for (; i + kByteVector <= count; i += kByteVector) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i),
                        convert(vector(i), vector(i + 8), vector(i + 16), vector(i + 24)));
  }
  for (; i < count; ++i) y[i] = ops::to_byte(one(i), bytes);
}

}  // namespace trainyard::kernels::native
