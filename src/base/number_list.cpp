#include "base/number_list.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/number_list_wide.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace trainyard {

#ifdef __x86_64__
namespace {

#define TY_AVX2 __attribute__((target("avx2,bmi")))

constexpr ptrdiff_t kMostDigits = 19;
constexpr ptrdiff_t kRoom = 64;

// Where numbers end in the 64 bytes at `at`: a bit for each comma or closing bracket.
TY_AVX2 uint64_t ends_at(const char* at) {
  const __m256i comma = _mm256_set1_epi8(',');
  const __m256i bracket = _mm256_set1_epi8(']');
  uint64_t bits = 0;
  for (int half = 0; half < 2; ++half) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 32 * half));
    const __m256i found =
        _mm256_or_si256(_mm256_cmpeq_epi8(bytes, comma), _mm256_cmpeq_epi8(bytes, bracket));
    bits |= uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(found))} << (32 * half);
  }
  return bits;
}

// The number from `first` to `last`, of which the 33 bytes before `last` can be read. Its digits
// are put at the end of a register whatever their count, those before the point one place further,
// so that no step depends on a length; numbers do not wait for each other, since their ends are
// known before.
TY_AVX2 bool convert(const char* first, const char* last, float& out) {
  // Which sign and which first digit cannot be foretold, so there are no branches on them.
  const auto negative = static_cast<uint32_t>(*first == '-');
  first += negative;
  const ptrdiff_t length = last - first;
  if (length < 1 || length > kMostDigits + 1) return false;
  const __m256i places =
      _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                       22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(last - 32));
  const __m256i earlier = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(last - 33));
  const auto start = static_cast<int>(32 - length);
  const auto points = static_cast<uint32_t>(
                          _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('.')))) >>
                      start << start;
  // Without a point it is as if one stood in front.
  const int point = points == 0 ? start - 1 : std::countr_zero(points);
  const ptrdiff_t fraction = points == 0 ? 0 : 31 - point;
  const unsigned odd_point =
      static_cast<unsigned>(points != 0) &
      (static_cast<unsigned>(point == start) | static_cast<unsigned>(point == 31));
  const unsigned leading_zero = static_cast<unsigned>(*first == '0') &
                                static_cast<unsigned>(length > 1) &
                                static_cast<unsigned>(point != start + 1);
  const unsigned too_long =
      static_cast<unsigned>(points == 0) & static_cast<unsigned>(length > kMostDigits);
  if ((odd_point | leading_zero | too_long) != 0) return false;
  const __m256i moved = _mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<char>(point + 1)), places);
  const __m256i before = _mm256_cmpgt_epi8(
      _mm256_set1_epi8(static_cast<char>(points == 0 ? start : start + 1)), places);
  __m256i digits = _mm256_blendv_epi8(bytes, earlier, moved);
  digits = _mm256_andnot_si256(before, _mm256_sub_epi8(digits, _mm256_set1_epi8('0')));
  const __m256i nine = _mm256_set1_epi8(9);
  if (_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(digits, nine), nine)) != -1) {
    return false;
  }
  // Pairs, fours and eights of digits; the last twenty-four are all there can be.
  const __m256i pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010a));
  const __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00010064));
  const __m256i packed = _mm256_packus_epi32(fours, fours);
  const __m256i eights = _mm256_madd_epi16(packed, _mm256_set1_epi32(0x00012710));
  const auto high = static_cast<uint32_t>(_mm256_extract_epi32(eights, 1));
  const auto middle = static_cast<uint32_t>(_mm256_extract_epi32(eights, 4));
  const auto low = static_cast<uint32_t>(_mm256_extract_epi32(eights, 5));
  const uint64_t number = (uint64_t{high} * 100'000'000 + middle) * 100'000'000 + low;
  if (number >> 63 != 0) return false;
  const double value = static_cast<double>(static_cast<int64_t>(number)) / kTens[fraction];
  out = std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(value)) | negative << 31);
  return true;
}

TY_AVX2 size_t read_list(const char*& at, const char* end, float* out, size_t most) {
  size_t count = 0;
  const char* position = at;
  const char* first = at + 1 + static_cast<ptrdiff_t>(at[1] == ' ');
  bool more = true;
  for (const char* block = at + 1; more && end - block > kRoom + 2; block += kRoom) {
    for (uint64_t bits = ends_at(block); bits != 0 && more; bits &= bits - 1) {
      const char* const last = block + std::countr_zero(bits);
      more = count < most && convert(first, last, out[count]);
      if (!more) break;
      ++count;
      position = last;
      more = *last != ']';
      first = last + 1 + static_cast<ptrdiff_t>(last[1] == ' ');
    }
  }
  at = position;
  return count;
}

#undef TY_AVX2

}  // namespace

size_t read_number_list(const char* begin, const char*& at, const char* end, float* out,
                        size_t most) {
  static const bool kCan = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
  if (!kCan || at - begin < kRoom || end - at < 2 * kRoom || *at != ',') return 0;
  if (const size_t many = read_number_list_wide(at, end, out, most)) return many;
  // One of the next eight is of another form; soon it will be past.
  constexpr size_t kFew = 32;
  return read_list(at, end, out, std::min(most, kFew));
}

#else

size_t read_number_list(const char*, const char*&, const char*, float*, size_t) {
  return 0;
}

#endif

}  // namespace trainyard
