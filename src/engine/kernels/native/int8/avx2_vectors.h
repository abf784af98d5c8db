// Vectors of 8 numbers with AVX2, for conv_tile.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "engine/kernels/native/repeat.h"
#include "engine/kernels/native/vectors.h"

namespace trainyard::kernels::native {
namespace {

struct Avx2 {
  static constexpr int kStored = 2;  // pixels whose bytes are made together
  static constexpr int kLanes = 8;
  using Ints = __m256i;
  using Floats = __m256;

  TY_INLINE static Ints load(const int32_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  TY_INLINE static Floats load(const float* from) { return _mm256_loadu_ps(from); }
  TY_INLINE static Floats to_floats(Ints x) { return _mm256_cvtepi32_ps(x); }
  TY_INLINE static Floats same_bits(Ints x) { return _mm256_castsi256_ps(x); }
  TY_INLINE static Floats all(float x) { return _mm256_set1_ps(x); }
  TY_INLINE static Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
  TY_INLINE static Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
  TY_INLINE static Floats subtract(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
  TY_INLINE static Floats round(Floats x) {
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  TY_INLINE static Floats clamp(Floats x, Floats low, Floats high) {
    return _mm256_min_ps(_mm256_max_ps(x, low), high);
  }
  TY_INLINE static Floats load_bytes(const uint8_t* from, int64_t count) {
    uint64_t eight = 0;
    if (count >= kLanes) {
      std::memcpy(&eight, from, sizeof eight);
    } else if (count > 0) {
      std::memcpy(&eight, from, static_cast<size_t>(count));
    }
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(eight))));
  }
  TY_INLINE static void store_some(float* to, Floats x, int64_t count) {
    if (count >= kLanes) return _mm256_storeu_ps(to, x);
    const Ints numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const Ints mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(count)), numbers);
    _mm256_maskstore_ps(to, mask, x);
  }

  TY_INLINE static void store_blocks(float* to, Floats x, int64_t /*half*/, int64_t /*count*/) {
    _mm256_storeu_ps(to, x);
  }

  // Rounds, shifts and clamps. Saturation to 16 bits on the way changes nothing, as both ends lie
  // far outside of a byte.
  template <int kVectors, int kPixels>
  TY_INLINE static void store_bytes(const Floats (*pixels)[kVectors], int32_t zero, int32_t low,
                                    int32_t high, uint8_t* to, int64_t stride, int64_t count) {
    static_assert(kVectors <= 2 && kPixels <= kStored);
    const Ints shift = _mm256_set1_epi16(static_cast<int16_t>(zero));
    const auto words = [&](int p) TY_INLINE {
      const Ints first = _mm256_cvtps_epi32(pixels[p][0]);
      const Ints second = kVectors > 1 ? _mm256_cvtps_epi32(pixels[p][kVectors - 1]) : first;
      return _mm256_adds_epi16(_mm256_packs_epi32(first, second), shift);
    };
    const Ints first = words(0);
    const Ints order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    Ints bytes = _mm256_permutevar8x32_epi32(
        _mm256_packus_epi16(first, kPixels > 1 ? words(kPixels - 1) : first), order);
    bytes = _mm256_max_epu8(bytes, _mm256_set1_epi8(static_cast<char>(low)));
    bytes = _mm256_min_epu8(bytes, _mm256_set1_epi8(static_cast<char>(high)));
    store_pixel<kVectors>(_mm256_castsi256_si128(bytes), to, count);
    if (kPixels > 1) store_pixel<kVectors>(_mm256_extracti128_si256(bytes, 1), to + stride, count);
  }

  template <int kVectors>
  TY_INLINE static void store_pixel(__m128i bytes, uint8_t* to, int64_t count) {
    if (count < kVectors * kLanes) {
      alignas(16) uint8_t some[16];
      _mm_store_si128(reinterpret_cast<__m128i*>(some), bytes);
      std::memcpy(to, some, static_cast<size_t>(count));
    } else if (kVectors > 1) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
    } else {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(to), bytes);
    }
  }
};

// Pairs of products are added in 16 bits, which the weights must allow.
struct Avx2Fours {
  static constexpr bool kPairs = true;
  static constexpr int64_t kBytes = 32;
  using Weights = __m256i;
  using Bytes = __m256i;
  TY_INLINE static Weights load(const int8_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  TY_INLINE static Bytes spread(int32_t four) { return _mm256_set1_epi32(four); }
  TY_INLINE static __m256i dot(__m256i sum, Bytes x, Weights w) {
    const __m256i pairs = _mm256_maddubs_epi16(x, w);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  // Two steps whose pairs may be added in 16 bits as well (step_order.h).
  TY_INLINE static __m256i dot_two(__m256i sum, Bytes a, Weights of_a, Bytes b, Weights of_b) {
    const __m256i pairs =
        _mm256_add_epi16(_mm256_maddubs_epi16(a, of_a), _mm256_maddubs_epi16(b, of_b));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
};

// Weights of 16 bits: exact whatever they are. The first two of each channel, then the other two.
struct Avx2Wide {
  static constexpr bool kPairs = false;
  static constexpr int64_t kBytes = 64;
  struct Two {
    __m256i low;
    __m256i high;
  };
  using Weights = Two;
  using Bytes = Two;
  TY_INLINE static Weights load(const int8_t* from) {
    const auto* at = reinterpret_cast<const __m256i*>(from);
    return {_mm256_loadu_si256(at), _mm256_loadu_si256(at + 1)};
  }
  TY_INLINE static Bytes spread(int32_t four) {
    const __m256i all = _mm256_set1_epi32(four);
    const __m256i low = _mm256_set1_epi32(static_cast<int32_t>(0x80018000U));
    const __m256i high = _mm256_set1_epi32(static_cast<int32_t>(0x80038002U));
    return {_mm256_shuffle_epi8(all, low), _mm256_shuffle_epi8(all, high)};
  }
  TY_INLINE static __m256i dot(__m256i sum, const Bytes& x, const Weights& w) {
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(x.low, w.low));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(x.high, w.high));
  }
};

}  // namespace
}  // namespace trainyard::kernels::native
