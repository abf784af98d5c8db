// Vectors of 16 numbers with AVX-512, for conv_tile.h.
#pragma once

#include <cstdint>
#include <immintrin.h>

#include "engine/kernels/native/repeat.h"

namespace trainyard::kernels::native {
namespace {

struct Vnni {
  static constexpr int kStored = 1;  // pixels whose bytes are made together
  static constexpr int kLanes = 16;
  using Ints = __m512i;
  using Floats = __m512;

  TY_INLINE static Ints load(const int32_t* from) { return _mm512_loadu_si512(from); }
  TY_INLINE static Floats load(const float* from) { return _mm512_loadu_ps(from); }
  TY_INLINE static Floats to_floats(Ints x) { return _mm512_cvtepi32_ps(x); }
  TY_INLINE static Floats same_bits(Ints x) { return _mm512_castsi512_ps(x); }
  TY_INLINE static Floats all(float x) { return _mm512_set1_ps(x); }
  TY_INLINE static Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  TY_INLINE static Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
  TY_INLINE static Floats subtract(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
  TY_INLINE static Floats round(Floats x) {
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  TY_INLINE static Floats clamp(Floats x, Floats low, Floats high) {
    return _mm512_min_ps(_mm512_max_ps(x, low), high);
  }
  TY_INLINE static __mmask16 first(int64_t count) {
    return count >= kLanes
               ? __mmask16{0xFFFF}
               : static_cast<__mmask16>((1U << static_cast<unsigned>(count < 0 ? 0 : count)) - 1U);
  }
  TY_INLINE static Floats load_bytes(const uint8_t* from, int64_t count) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(first(count), from)));
  }
  TY_INLINE static void store_some(float* to, Floats x, int64_t count) {
    _mm512_mask_storeu_ps(to, first(count), x);
  }

  TY_INLINE static void store_blocks(float* to, Floats x, int64_t half, int64_t count) {
    _mm256_storeu_ps(to, _mm512_castps512_ps256(x));
    if (half == kLanes / 2 || count > kLanes / 2) {
      _mm256_storeu_ps(to + half, _mm512_extractf32x8_ps(x, 1));
    }
  }

  // Rounds, shifts and clamps. Saturation to 16 bits on the way changes nothing, as both ends lie
  // far outside of a byte.
  template <int kVectors, int kPixels>
  TY_INLINE static void store_bytes(const Floats (*pixels)[kVectors], int32_t zero, int32_t low,
                                    int32_t high, uint8_t* to, int64_t /*stride*/, int64_t count) {
    static_assert(kPixels == kStored);
    const Floats* steps = pixels[0];
    const Ints none = _mm512_setzero_si512();
    const auto ints = [&](int v)
                          TY_INLINE { return v < kVectors ? _mm512_cvtps_epi32(steps[v]) : none; };
    const Ints shift = _mm512_set1_epi16(static_cast<int16_t>(zero));
    const Ints a = _mm512_adds_epi16(_mm512_packs_epi32(ints(0), ints(1)), shift);
    const Ints b =
        kVectors > 2 ? _mm512_adds_epi16(_mm512_packs_epi32(ints(2), ints(3)), shift) : none;
    const Ints order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    Ints bytes = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(a, b));
    bytes = _mm512_max_epu8(bytes, _mm512_set1_epi8(static_cast<char>(low)));
    bytes = _mm512_min_epu8(bytes, _mm512_set1_epi8(static_cast<char>(high)));
    constexpr int64_t kWidth = 4 * kLanes;
    const __mmask64 mask = count >= kWidth ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
    _mm512_mask_storeu_epi8(to, mask, bytes);
  }
};

// Four bytes of one pixel against four weights of each of 16 channels.
struct VnniFours {
  static constexpr bool kPairs = false;
  static constexpr int64_t kBytes = 64;
  using Weights = __m512i;
  using Bytes = __m512i;
  TY_INLINE static Weights load(const int8_t* from) { return _mm512_loadu_si512(from); }
  TY_INLINE static Bytes spread(int32_t four) { return _mm512_set1_epi32(four); }
  TY_INLINE static __m512i dot(__m512i sum, Bytes x, Weights w) {
    return _mm512_dpbusd_epi32(sum, x, w);
  }
};

}  // namespace
}  // namespace trainyard::kernels::native
