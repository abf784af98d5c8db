#include "base/number_list_wide.h"

#include <bit>
#include <cstdint>

#include "base/number_list.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && \
    defined(__AVX512VL__) && defined(__AVX512CD__)
#include <immintrin.h>
#define TY_WIDE_NUMBERS
#endif

namespace trainyard {

#ifdef TY_WIDE_NUMBERS
namespace {

constexpr ptrdiff_t kBlock = 64;
constexpr size_t kGroup = 8;
constexpr size_t kPiece = 16;  // characters in a lane
constexpr size_t kChunk = 64;

// Where numbers end, as distances from a base: those of a chunk of the text, found without a branch
// that depends on their lengths. The first entry is the comma before the first number.
struct NumberEnds {
  const char* base = nullptr;
  uint32_t at[kChunk + 2 * kBlock];
  size_t count = 0;   // of numbers; at[i + 1] ends number i
  bool last = false;  // a bracket ends the list
};

// Reads on from `text`, which is behind the last end known, as far as there is room; returns where
// the next call goes on. 64 bytes behind what it looks at can be read.
const char* find_ends(const char* text, const char* end, NumberEnds& ends) {
  const __m512i comma = _mm512_set1_epi8(',');
  const __m512i bracket = _mm512_set1_epi8(']');
  while (ends.count < kChunk && !ends.last && end - text > kBlock + 2) {
    const __m512i bytes = _mm512_loadu_si512(text);
    uint64_t bits = _mm512_cmpeq_epi8_mask(bytes, comma);
    const uint64_t brackets = _mm512_cmpeq_epi8_mask(bytes, bracket);
    if (brackets != 0) {
      const uint64_t first = brackets & (0 - brackets);
      bits = (bits & (first - 1)) | first;
      ends.last = true;
    }
    const auto found = static_cast<size_t>(std::popcount(bits));
    const auto from = static_cast<uint32_t>(text - ends.base);
    uint32_t* out = ends.at + ends.count + 1;
    // More than there are, which the next block overwrites.
    for (size_t i = 0; i < found; i += kGroup) {
      for (size_t j = 0; j < kGroup; ++j) {
        *out++ = from + static_cast<uint32_t>(std::countr_zero(bits));
        bits &= bits - 1;
      }
    }
    ends.count += found;
    text += kBlock;
  }
  return text;
}

// Sixteen characters that end `before` bytes before the end of every second number, in four lanes.
__m512i load_lanes(const char* base, const uint32_t* ends, size_t before) {
  const auto lane = [&](size_t i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(base + ends[2 * i] - before - kPiece));
  };
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(lane(0)), lane(1), 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(lane(2)), lane(3), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

// The last characters of eight numbers: even ones, odd ones.
struct Lanes {
  __m512i even;
  __m512i odd;
};

Lanes load_group(const char* base, const uint32_t* ends, size_t before) {
  return {load_lanes(base, ends, before), load_lanes(base, ends + 1, before)};
}

// One bit per character, sixteen for each number, in the order of the numbers.
__m128i bits_of(__mmask64 even, __mmask64 odd) {
  return _mm_unpacklo_epi16(_mm_cvtsi64_si128(static_cast<int64_t>(even)),
                            _mm_cvtsi64_si128(static_cast<int64_t>(odd)));
}

// Back: sixteen bits of each number as masks of its lane.
struct LaneMasks {
  __mmask64 even;
  __mmask64 odd;
};
LaneMasks masks_of(__m256i bits) {
  const __m128i order = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
  const __m128i words = _mm_shuffle_epi8(_mm256_cvtepi32_epi16(bits), order);
  return {static_cast<__mmask64>(_mm_cvtsi128_si64(words)),
          static_cast<__mmask64>(_mm_extract_epi64(words, 1))};
}

// Where a character stands among the last 32 of each number: the last one is bit 31. With kLong
// false a number has at most sixteen.
template <bool kLong>
__m256i find_char(const Lanes& low, const Lanes& high, char c) {
  const __m512i wanted = _mm512_set1_epi8(c);
  const __m128i last =
      bits_of(_mm512_cmpeq_epi8_mask(low.even, wanted), _mm512_cmpeq_epi8_mask(low.odd, wanted));
  __m256i bits = _mm256_slli_epi32(_mm256_cvtepu16_epi32(last), 16);
  if constexpr (kLong) {
    const __m128i earlier = bits_of(_mm512_cmpeq_epi8_mask(high.even, wanted),
                                    _mm512_cmpeq_epi8_mask(high.odd, wanted));
    bits = _mm256_or_si256(bits, _mm256_cvtepu16_epi32(earlier));
  }
  return bits;
}

// Sixteen digits in each lane as whole numbers, in the order of the numbers.
__m512i values_of(__m512i even, __m512i odd) {
  // Pairs, fours and eights of digits.
  const __m512i ten = _mm512_set1_epi16(0x010a);
  const __m512i hundred = _mm512_set1_epi32(0x00010064);
  const __m512i packed =
      _mm512_packus_epi32(_mm512_madd_epi16(_mm512_maddubs_epi16(even, ten), hundred),
                          _mm512_madd_epi16(_mm512_maddubs_epi16(odd, ten), hundred));
  const __m512i eights = _mm512_madd_epi16(packed, _mm512_set1_epi32(0x00012710));
  const __m512i front = _mm512_mul_epu32(eights, _mm512_set1_epi64(100'000'000));
  return _mm512_add_epi64(front, _mm512_srli_epi64(eights, 32));
}

// 10 to the power of each, of 0 to 18.
__m512d tens_of(__m256i powers) {
  const __m512i index = _mm512_cvtepu32_epi64(powers);
  const __m512d first =
      _mm512_permutex2var_pd(_mm512_loadu_pd(kTens), index, _mm512_loadu_pd(kTens + 8));
  const __mmask8 large = _mm512_cmpgt_epi64_mask(index, _mm512_set1_epi64(15));
  return _mm512_mask_permutexvar_pd(first, large, index, _mm512_maskz_loadu_pd(0x07, kTens + 16));
}

// The numbers that end at ends[0] to ends[7], of which those in `wanted` count; false if one of
// them is of another form than this reads.
template <bool kLong>
bool convert_group(const char* base, const uint32_t* ends, __mmask8 wanted, float* out) {
  const Lanes low = load_group(base, ends, 0);
  Lanes high{};
  if constexpr (kLong) high = load_group(base, ends, kPiece);
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i all = _mm256_set1_epi32(32);
  // A space in front, then a sign: each makes the rest shorter.
  const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ends));
  const __m256i before = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ends - 1));
  __m256i length = _mm256_sub_epi32(_mm256_sub_epi32(here, before), one);
  const __mmask8 too_long =
      _mm256_cmpgt_epu32_mask(length, _mm256_set1_epi32(kLong ? 32 : int{kPiece}));
  const auto first_is = [&](char c) {
    const __m256i bits = find_char<kLong>(low, high, c);
    return _mm256_and_si256(_mm256_srlv_epi32(bits, _mm256_sub_epi32(all, length)), one);
  };
  length = _mm256_sub_epi32(length, first_is(' '));
  const __m256i minus = first_is('-');
  length = _mm256_maskz_sub_epi32(wanted, length, minus);
  const __m256i zero = first_is('0');
  // The point, if there is one.
  const __m256i own = _mm256_sllv_epi32(_mm256_set1_epi32(-1), _mm256_sub_epi32(all, length));
  const __m256i point = _mm256_and_si256(find_char<kLong>(low, high, '.'), own);
  const __mmask8 has_point = _mm256_test_epi32_mask(point, point);
  const __m256i fraction = _mm256_maskz_lzcnt_epi32(has_point, point);
  // Whole numbers have at most eighteen digits; there are digits on both sides of a point; a zero
  // in front stands alone or before the point.
  const __m256i digits = _mm256_mask_sub_epi32(length, has_point, length, one);
  const __m256i before_point = _mm256_sub_epi32(digits, fraction);
  const __mmask8 wrong =
      too_long | _mm256_cmpgt_epi32_mask(digits, _mm256_set1_epi32(18)) |
      _mm256_cmplt_epi32_mask(before_point, one) |
      (has_point & _mm256_testn_epi32_mask(fraction, fraction)) |
      (_mm256_test_epi32_mask(zero, zero) & _mm256_cmpgt_epi32_mask(before_point, one));
  if ((wrong & wanted) != 0) return false;
  // Digits before the point move over it.
  const __m256i moved =
      _mm256_mask_xor_epi32(_mm256_setzero_si256(), has_point, point, _mm256_sub_epi32(point, one));
  const __m256i kept = _mm256_sllv_epi32(_mm256_set1_epi32(-1), _mm256_sub_epi32(all, digits));
  const __m512i nought = _mm512_set1_epi8('0');
  const __m512i nine = _mm512_set1_epi8(9);
  const auto take = [&](__m512i bytes, __m512i shifted, __mmask64 move, __mmask64 keep) {
    return _mm512_maskz_sub_epi8(keep, _mm512_mask_mov_epi8(bytes, move, shifted), nought);
  };
  const LaneMasks move = masks_of(_mm256_srli_epi32(moved, 16));
  const LaneMasks keep = masks_of(_mm256_srli_epi32(kept, 16));
  const auto shift = [](__m512i bytes, __m512i earlier) {
    if constexpr (kLong) return _mm512_alignr_epi8(bytes, earlier, 15);
    return _mm512_bslli_epi128(bytes, 1);
  };
  const __m512i even = take(low.even, shift(low.even, high.even), move.even, keep.even);
  const __m512i odd = take(low.odd, shift(low.odd, high.odd), move.odd, keep.odd);
  __mmask64 strange = _mm512_cmpgt_epu8_mask(even, nine) | _mm512_cmpgt_epu8_mask(odd, nine);
  __m512i values = values_of(even, odd);
  if constexpr (kLong) {
    const LaneMasks high_move = masks_of(moved);
    const LaneMasks high_keep = masks_of(kept);
    const __m512i high_even =
        take(high.even, _mm512_bslli_epi128(high.even, 1), high_move.even, high_keep.even);
    const __m512i high_odd =
        take(high.odd, _mm512_bslli_epi128(high.odd, 1), high_move.odd, high_keep.odd);
    strange |= _mm512_cmpgt_epu8_mask(high_even, nine) | _mm512_cmpgt_epu8_mask(high_odd, nine);
    const __m512i scale = _mm512_set1_epi64(10'000'000'000'000'000);
    values = _mm512_add_epi64(values, _mm512_mullo_epi64(values_of(high_even, high_odd), scale));
  }
  if (strange != 0) return false;
  const __m256 floats =
      _mm512_cvtpd_ps(_mm512_div_pd(_mm512_cvtepi64_pd(values), tens_of(fraction)));
  const __m256i signs = _mm256_slli_epi32(minus, 31);
  _mm256_mask_storeu_ps(out, wanted, _mm256_or_ps(floats, _mm256_castsi256_ps(signs)));
  return true;
}

}  // namespace

size_t read_number_list_wide(const char*& at, const char* end, float* out, size_t most) {
  static const bool kCan =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("bmi");
  if (!kCan) return 0;
  size_t total = 0;
  NumberEnds ends;
  const char* text = at + 1;
  bool is_long = false;  // numbers of a list are alike
  while (total < most && !ends.last) {
    ends.base = at;
    ends.at[0] = 0;
    ends.count = 0;
    text = find_ends(text, end, ends);
    if (ends.count == 0) break;
    const size_t count = ends.count < most - total ? ends.count : most - total;
    for (size_t done = 0; done < count; done += kGroup) {
      const size_t size = count - done < kGroup ? count - done : kGroup;
      // What follows the last one can be read, and does not count.
      if (size < kGroup) {
        for (size_t i = size; i < kGroup; ++i) ends.at[done + 1 + i] = ends.at[done + size];
      }
      const auto wanted = static_cast<__mmask8>((1U << size) - 1);
      const uint32_t* const group = ends.at + done + 1;
      bool good = is_long ? convert_group<true>(ends.base, group, wanted, out + total)
                          : convert_group<false>(ends.base, group, wanted, out + total);
      if (!good && !is_long) {
        is_long = convert_group<true>(ends.base, group, wanted, out + total);
        good = is_long;
      }
      if (!good) return total;
      total += size;
      at = ends.base + group[size - 1];
    }
    if (count < ends.count) break;
  }
  return total;
}

#else

size_t read_number_list_wide(const char*&, const char*, float*, size_t) {
  return 0;
}

#endif

}  // namespace trainyard
