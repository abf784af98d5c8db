// What the kernels of this folder use of AVX2, by its names, for processors without: each vector of
// 32 bytes is two of 16, which the compiler turns into the processor's own (NEON on aarch64).
// Results are AVX2's to the bit, but for numbers that do not fit into 32 bits: they become the
// nearest that does.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace trainyard::kernels::native {

#define TY_PORTABLE [[gnu::always_inline]] inline

template <typename T>
using Vector16 [[gnu::vector_size(16)]] = T;
template <typename T>
using Vector8 [[gnu::vector_size(8)]] = T;

using __m128 = Vector16<float>;
using __m128i = Vector16<int64_t>;
struct __m256 {
  __m128 low, high;
};
struct __m256i {
  __m128i low, high;
};
struct __m256d {
  Vector16<double> low, high;
};

// f() of the low halves and of the high ones.
template <typename Result, typename F, typename... Vectors>
TY_PORTABLE Result by_halves(const F& f, const Vectors&... v) {
  return {f(v.low...), f(v.high...)};
}
// The same for whole numbers, taken as vectors of T.
template <typename T, typename F, typename... Vectors>
TY_PORTABLE __m256i by_halves_of(const F& f, const Vectors&... v) {
  const auto half = [&](const auto&... h) {
    return std::bit_cast<__m128i>(f(std::bit_cast<Vector16<T>>(h)...));
  };
  return {half(v.low...), half(v.high...)};
}
// A vector of 16 bytes whose element i is f(i).
template <typename T, typename F>
TY_PORTABLE Vector16<T> each(const F& f) {
  Vector16<T> y = {};
  for (int i = 0; i < static_cast<int>(16 / sizeof(T)); ++i) y[i] = static_cast<T>(f(i));
  return y;
}
template <typename V>
TY_PORTABLE V load_half(const void* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <typename V>
TY_PORTABLE V load_halves(const void* from) {
  V v;
  std::memcpy(&v.low, from, sizeof v.low);
  std::memcpy(&v.high, static_cast<const char*>(from) + sizeof v.low, sizeof v.high);
  return v;
}
template <typename V>
TY_PORTABLE void store_halves(void* to, const V& v) {
  std::memcpy(to, &v.low, sizeof v.low);
  std::memcpy(static_cast<char*>(to) + sizeof v.low, &v.high, sizeof v.high);
}

// Memory.
TY_PORTABLE __m256 _mm256_load_ps(const float* from) {
  return load_halves<__m256>(from);
}
TY_PORTABLE __m256 _mm256_loadu_ps(const float* from) {
  return load_halves<__m256>(from);
}
TY_PORTABLE __m256i _mm256_load_si256(const __m256i* from) {
  return load_halves<__m256i>(from);
}
TY_PORTABLE __m256i _mm256_loadu_si256(const __m256i* from) {
  return load_halves<__m256i>(from);
}
TY_PORTABLE __m128i _mm_load_si128(const __m128i* from) {
  return load_half<__m128i>(from);
}
TY_PORTABLE __m128i _mm_loadu_si128(const __m128i* from) {
  return load_half<__m128i>(from);
}
TY_PORTABLE __m128i _mm_cvtsi64_si128(int64_t x) {
  return __m128i{x, 0};
}
TY_PORTABLE __m128i _mm_loadl_epi64(const __m128i* from) {
  return _mm_cvtsi64_si128(load_half<int64_t>(from));
}
TY_PORTABLE void _mm256_store_ps(float* to, const __m256& x) {
  store_halves(to, x);
}
TY_PORTABLE void _mm256_storeu_ps(float* to, const __m256& x) {
  store_halves(to, x);
}
TY_PORTABLE void _mm256_stream_ps(float* to, const __m256& x) {
  store_halves(to, x);
}
TY_PORTABLE void _mm256_store_si256(__m256i* to, const __m256i& x) {
  store_halves(to, x);
}
TY_PORTABLE void _mm256_storeu_si256(__m256i* to, const __m256i& x) {
  store_halves(to, x);
}
TY_PORTABLE void _mm_store_si128(__m128i* to, __m128i x) {
  std::memcpy(to, &x, sizeof x);
}
TY_PORTABLE void _mm_storeu_si128(__m128i* to, __m128i x) {
  std::memcpy(to, &x, sizeof x);
}
TY_PORTABLE void _mm_storel_epi64(__m128i* to, __m128i x) {
  std::memcpy(to, &x, sizeof(int64_t));
}
TY_PORTABLE void _mm256_maskstore_ps(float* to, const __m256i& mask, const __m256& x) {
  int32_t wanted[8];
  float values[8];
  store_halves(wanted, mask);
  store_halves(values, x);
  for (int i = 0; i < 8; ++i) {
    if (wanted[i] < 0) to[i] = values[i];
  }
}
// Stores are in order where none goes around the cache.
TY_PORTABLE void _mm_sfence() {}
inline constexpr int _MM_HINT_T0 = 3;
TY_PORTABLE void _mm_prefetch(const char* at, int /*hint*/) {
  __builtin_prefetch(at, 0, 3);
}

// The same number in all places.
TY_PORTABLE __m256 _mm256_set1_ps(float x) {
  const __m128 half = {x, x, x, x};
  return {half, half};
}
TY_PORTABLE __m256 _mm256_broadcast_ss(const float* from) {
  return _mm256_set1_ps(*from);
}
TY_PORTABLE __m256 _mm256_setzero_ps() {
  return _mm256_set1_ps(0.0F);
}
TY_PORTABLE __m256i _mm256_set1_epi64x(int64_t x) {
  return {__m128i{x, x}, __m128i{x, x}};
}
template <typename T>
TY_PORTABLE __m128i same_whole(T x) {
  return std::bit_cast<__m128i>(each<T>([&](int) { return x; }));
}
TY_PORTABLE __m256i _mm256_set1_epi32(int32_t x) {
  return {same_whole(x), same_whole(x)};
}
TY_PORTABLE __m256i _mm256_set1_epi16(int16_t x) {
  return {same_whole(x), same_whole(x)};
}
TY_PORTABLE __m256i _mm256_set1_epi8(char x) {
  return {same_whole(x), same_whole(x)};
}
TY_PORTABLE __m128i _mm_set1_epi8(char x) {
  return same_whole(x);
}
TY_PORTABLE __m256i _mm256_setzero_si256() {
  return _mm256_set1_epi64x(0);
}
TY_PORTABLE __m256i _mm256_setr_epi32(int32_t a, int32_t b, int32_t c, int32_t d, int32_t e,
                                      int32_t f, int32_t g, int32_t h) {
  return {std::bit_cast<__m128i>(Vector16<int32_t>{a, b, c, d}),
          std::bit_cast<__m128i>(Vector16<int32_t>{e, f, g, h})};
}

// The same bits as another type, halves, and the first element.
TY_PORTABLE __m256 _mm256_castsi256_ps(const __m256i& x) {
  return std::bit_cast<__m256>(x);
}
TY_PORTABLE __m256i _mm256_castps_si256(const __m256& x) {
  return std::bit_cast<__m256i>(x);
}
TY_PORTABLE __m256d _mm256_castps_pd(const __m256& x) {
  return std::bit_cast<__m256d>(x);
}
TY_PORTABLE __m256 _mm256_castpd_ps(const __m256d& x) {
  return std::bit_cast<__m256>(x);
}
TY_PORTABLE __m128 _mm256_castps256_ps128(const __m256& x) {
  return x.low;
}
TY_PORTABLE __m128i _mm256_castsi256_si128(const __m256i& x) {
  return x.low;
}
TY_PORTABLE __m128 _mm256_extractf128_ps(const __m256& x, int half) {
  return half == 0 ? x.low : x.high;
}
TY_PORTABLE __m128i _mm256_extracti128_si256(const __m256i& x, int half) {
  return half == 0 ? x.low : x.high;
}
TY_PORTABLE float _mm_cvtss_f32(__m128 x) {
  return x[0];
}
TY_PORTABLE float _mm256_cvtss_f32(const __m256& x) {
  return x.low[0];
}

// Sums, products, quotients.
TY_PORTABLE __m128 _mm_add_ps(__m128 a, __m128 b) {
  return a + b;
}
TY_PORTABLE __m128 _mm_add_ss(__m128 a, __m128 b) {
  return __m128{a[0] + b[0], a[1], a[2], a[3]};
}
TY_PORTABLE __m256 _mm256_add_ps(const __m256& a, const __m256& b) {
  return {a.low + b.low, a.high + b.high};
}
TY_PORTABLE __m256 _mm256_sub_ps(const __m256& a, const __m256& b) {
  return {a.low - b.low, a.high - b.high};
}
TY_PORTABLE __m256 _mm256_mul_ps(const __m256& a, const __m256& b) {
  return {a.low * b.low, a.high * b.high};
}
TY_PORTABLE __m256 _mm256_div_ps(const __m256& a, const __m256& b) {
  return {a.low / b.low, a.high / b.high};
}
// a * b + c, rounded once.
TY_PORTABLE __m128 fused(__m128 a, __m128 b, __m128 c) {
#if defined(__aarch64__)
  return vfmaq_f32(c, a, b);
#else
  return each<float>([&](int i) { return std::fma(a[i], b[i], c[i]); });
#endif
}
TY_PORTABLE __m256 _mm256_fmadd_ps(const __m256& a, const __m256& b, const __m256& c) {
  return by_halves<__m256>(fused, a, b, c);
}
TY_PORTABLE __m256 _mm256_fmsub_ps(const __m256& a, const __m256& b, const __m256& c) {
  return {fused(a.low, b.low, -c.low), fused(a.high, b.high, -c.high)};
}
TY_PORTABLE __m256 _mm256_fnmadd_ps(const __m256& a, const __m256& b, const __m256& c) {
  return {fused(-a.low, b.low, c.low), fused(-a.high, b.high, c.high)};
}
TY_PORTABLE __m256 _mm256_sqrt_ps(const __m256& x) {
  return by_halves<__m256>(
      [](__m128 h) { return each<float>([&](int i) { return std::sqrt(h[i]); }); }, x);
}
// The second operand where one is NaN.
TY_PORTABLE __m128 _mm_max_ps(__m128 a, __m128 b) {
  return a > b ? a : b;
}
TY_PORTABLE __m128 _mm_max_ss(__m128 a, __m128 b) {
  return __m128{a[0] > b[0] ? a[0] : b[0], a[1], a[2], a[3]};
}
TY_PORTABLE __m256 _mm256_max_ps(const __m256& a, const __m256& b) {
  return by_halves<__m256>(_mm_max_ps, a, b);
}
TY_PORTABLE __m256 _mm256_min_ps(const __m256& a, const __m256& b) {
  return by_halves<__m256>([](__m128 x, __m128 y) -> __m128 { return x < y ? x : y; }, a, b);
}

// To the nearest whole number, the even one of two.
inline constexpr int _MM_FROUND_TO_NEAREST_INT = 0;
inline constexpr int _MM_FROUND_NO_EXC = 8;
TY_PORTABLE __m256 _mm256_round_ps(const __m256& x, int /*to nearest*/) {
  return by_halves<__m256>(
      [](__m128 h) { return each<float>([&](int i) { return std::nearbyint(h[i]); }); }, x);
}
TY_PORTABLE __m128i nearest_whole(__m128 x) {
#if defined(__aarch64__)
  return std::bit_cast<__m128i>(vcvtnq_s32_f32(x));
#else
  return std::bit_cast<__m128i>(each<int32_t>([&](int i) {
    constexpr float kEnd = 2147483648.0F;
    const float whole = std::nearbyint(x[i]);
    if (std::isnan(whole)) return int32_t{0};
    if (whole >= kEnd) return std::numeric_limits<int32_t>::max();
    return whole < -kEnd ? std::numeric_limits<int32_t>::min() : static_cast<int32_t>(whole);
  }));
#endif
}
TY_PORTABLE __m256i _mm256_cvtps_epi32(const __m256& x) {
  return by_halves<__m256i>(nearest_whole, x);
}
TY_PORTABLE __m256 _mm256_cvtepi32_ps(const __m256i& x) {
  return by_halves<__m256>(
      [](__m128i h) {
        return __builtin_convertvector(std::bit_cast<Vector16<int32_t>>(h), __m128);
      },
      x);
}

// Comparisons: all bits of an element, or none.
inline constexpr int _CMP_EQ_OQ = 0x10;
inline constexpr int _CMP_LT_OQ = 0x11;
inline constexpr int _CMP_NLE_UQ = 0x16;
inline constexpr int _CMP_GT_OQ = 0x1e;
TY_PORTABLE __m128 compare_half(__m128 a, __m128 b, int how) {
  Vector16<int32_t> found = {};
  if (how == _CMP_EQ_OQ) found = a == b;
  if (how == _CMP_LT_OQ) found = a < b;
  if (how == _CMP_GT_OQ) found = a > b;
  if (how == _CMP_NLE_UQ) found = ~(a <= b);
  return std::bit_cast<__m128>(found);
}
TY_PORTABLE __m256 _mm256_cmp_ps(const __m256& a, const __m256& b, int how) {
  return {compare_half(a.low, b.low, how), compare_half(a.high, b.high, how)};
}
TY_PORTABLE __m256i _mm256_cmpgt_epi32(const __m256i& a, const __m256i& b) {
  return by_halves_of<int32_t>([](auto x, auto y) { return x > y; }, a, b);
}
TY_PORTABLE __m256i _mm256_cmpgt_epi64(const __m256i& a, const __m256i& b) {
  return by_halves_of<int64_t>([](auto x, auto y) { return x > y; }, a, b);
}
// The signs of all elements as bits.
TY_PORTABLE int _mm256_movemask_ps(const __m256& x) {
  uint32_t bits[8];
  store_halves(bits, x);
  uint32_t signs = 0;
  for (uint32_t i = 0; i < 8; ++i) signs |= bits[i] >> 31U << i;
  return static_cast<int>(signs);
}

// Bits.
template <typename F>
TY_PORTABLE __m256 by_bits(const F& f, const __m256& a, const __m256& b) {
  return _mm256_castsi256_ps(by_halves_of<int64_t>(f, a, b));
}
TY_PORTABLE __m256 _mm256_and_ps(const __m256& a, const __m256& b) {
  return by_bits([](__m128i x, __m128i y) { return x & y; }, a, b);
}
TY_PORTABLE __m256 _mm256_or_ps(const __m256& a, const __m256& b) {
  return by_bits([](__m128i x, __m128i y) { return x | y; }, a, b);
}
TY_PORTABLE __m256 _mm256_andnot_ps(const __m256& a, const __m256& b) {
  return by_bits([](__m128i x, __m128i y) { return ~x & y; }, a, b);
}
TY_PORTABLE __m256i _mm256_xor_si256(const __m256i& a, const __m256i& b) {
  return {a.low ^ b.low, a.high ^ b.high};
}
TY_PORTABLE __m128i _mm_or_si128(__m128i a, __m128i b) {
  return a | b;
}
// No sign in both?
TY_PORTABLE int _mm256_testz_ps(const __m256& a, const __m256& b) {
  return _mm256_movemask_ps(_mm256_and_ps(a, b)) == 0 ? 1 : 0;
}
// b where the sign of `which` is set.
TY_PORTABLE __m256 _mm256_blendv_ps(const __m256& a, const __m256& b, const __m256& which) {
  return by_halves<__m256>(
      [](__m128 x, __m128 y, __m128 w) -> __m128 {
        return std::bit_cast<Vector16<int32_t>>(w) < 0 ? y : x;
      },
      a, b, which);
}

// Whole numbers.
TY_PORTABLE __m256i _mm256_add_epi64(const __m256i& a, const __m256i& b) {
  return by_halves_of<uint64_t>([](auto x, auto y) { return x + y; }, a, b);
}
TY_PORTABLE __m256i _mm256_add_epi32(const __m256i& a, const __m256i& b) {
  return by_halves_of<uint32_t>([](auto x, auto y) { return x + y; }, a, b);
}
TY_PORTABLE __m256i _mm256_add_epi16(const __m256i& a, const __m256i& b) {
  return by_halves_of<uint16_t>([](auto x, auto y) { return x + y; }, a, b);
}
TY_PORTABLE Vector16<int16_t> add_saturated(Vector16<int16_t> x, Vector16<int16_t> y) {
  const auto sum = (Vector16<int16_t>)((Vector16<uint16_t>)x + (Vector16<uint16_t>)y);
  const Vector16<int16_t> end = x >> 15 ^ std::numeric_limits<int16_t>::max();
  return (~(x ^ y) & (x ^ sum)) < 0 ? end : sum;
}
TY_PORTABLE __m256i _mm256_adds_epi16(const __m256i& a, const __m256i& b) {
  return by_halves_of<int16_t>(add_saturated, a, b);
}
TY_PORTABLE __m256i _mm256_slli_epi64(const __m256i& a, int by) {
  return by_halves_of<uint64_t>([&](auto x) { return x << by; }, a);
}
TY_PORTABLE __m256i _mm256_srli_epi64(const __m256i& a, int by) {
  return by_halves_of<uint64_t>([&](auto x) { return x >> by; }, a);
}
TY_PORTABLE __m256i _mm256_slli_epi32(const __m256i& a, int by) {
  return by_halves_of<uint32_t>([&](auto x) { return x << by; }, a);
}
// Products of the lower 32 bits of each 64.
TY_PORTABLE __m256i _mm256_mul_epu32(const __m256i& a, const __m256i& b) {
  return by_halves_of<uint64_t>(
      [](auto x, auto y) { return (x & 0xffffffffU) * (y & 0xffffffffU); }, a, b);
}
TY_PORTABLE __m256i _mm256_max_epu8(const __m256i& a, const __m256i& b) {
  return by_halves_of<uint8_t>([](auto x, auto y) { return x > y ? x : y; }, a, b);
}
TY_PORTABLE __m256i _mm256_min_epu8(const __m256i& a, const __m256i& b) {
  return by_halves_of<uint8_t>([](auto x, auto y) { return x < y ? x : y; }, a, b);
}
TY_PORTABLE __m128i _mm_max_epu8(__m128i a, __m128i b) {
  return _mm256_max_epu8({a, a}, {b, b}).low;
}
TY_PORTABLE __m128i _mm_min_epu8(__m128i a, __m128i b) {
  return _mm256_min_epu8({a, a}, {b, b}).low;
}
// Sums of two neighboring products, of 16 bits each; and of bytes without and with a sign,
// saturated.
TY_PORTABLE __m256i _mm256_madd_epi16(const __m256i& a, const __m256i& b) {
  return by_halves_of<int32_t>(
      [](auto x, auto y) { return ((x << 16) >> 16) * ((y << 16) >> 16) + (x >> 16) * (y >> 16); },
      a, b);
}
TY_PORTABLE __m256i _mm256_maddubs_epi16(const __m256i& a, const __m256i& b) {
  return by_halves_of<int16_t>(
      [](auto x, auto y) {
        const auto odd = (Vector16<int16_t>)((Vector16<uint16_t>)x >> 8);
        return add_saturated((x & 0xff) * ((y << 8) >> 8), odd * (y >> 8));
      },
      a, b);
}

// Wider and narrower whole numbers.
TY_PORTABLE __m256i _mm256_cvtepu8_epi32(__m128i x) {
  const auto eight =
      __builtin_convertvector(std::bit_cast<Vector8<uint8_t>>(x[0]), Vector16<int16_t>);
  const auto words = std::bit_cast<__m128i>(eight);
  const auto four = [&](int64_t half) {
    return std::bit_cast<__m128i>(
        __builtin_convertvector(std::bit_cast<Vector8<int16_t>>(half), Vector16<int32_t>));
  };
  return {four(words[0]), four(words[1])};
}
TY_PORTABLE __m256i _mm256_cvtepu8_epi16(__m128i x) {
  const auto eight = [&](int64_t half) {
    return std::bit_cast<__m128i>(
        __builtin_convertvector(std::bit_cast<Vector8<uint8_t>>(half), Vector16<int16_t>));
  };
  return {eight(x[0]), eight(x[1])};
}
// Numbers that To lacks become the nearest that it has.
template <typename From, typename To>
TY_PORTABLE __m128i pack_half(__m128i a, __m128i b) {
  const auto eight = [](__m128i half) {
    const Vector16<From> low = Vector16<From>{} + std::numeric_limits<To>::min();
    const Vector16<From> high = Vector16<From>{} + std::numeric_limits<To>::max();
    const auto x = std::bit_cast<Vector16<From>>(half);
    const Vector16<From> above = x > low ? x : low;
    const Vector16<From> kept = above < high ? above : high;
    return std::bit_cast<int64_t>(__builtin_convertvector(kept, Vector8<To>));
  };
  return __m128i{eight(a), eight(b)};
}
TY_PORTABLE __m256i _mm256_packs_epi32(const __m256i& a, const __m256i& b) {
  return by_halves<__m256i>(pack_half<int32_t, int16_t>, a, b);
}
TY_PORTABLE __m256i _mm256_packus_epi16(const __m256i& a, const __m256i& b) {
  return by_halves<__m256i>(pack_half<int16_t, uint8_t>, a, b);
}
TY_PORTABLE __m128i _mm_packus_epi16(__m128i a, __m128i b) {
  return pack_half<int16_t, uint8_t>(a, b);
}

// Other orders.
template <typename T, int kHalf>
TY_PORTABLE __m128i interleave_half(__m128i a, __m128i b) {
  constexpr int kFirst = kHalf * 8 / static_cast<int>(sizeof(T));
  const auto x = std::bit_cast<Vector16<T>>(a);
  const auto y = std::bit_cast<Vector16<T>>(b);
  return std::bit_cast<__m128i>(
      each<T>([&](int i) { return i % 2 == 0 ? x[kFirst + i / 2] : y[kFirst + i / 2]; }));
}
template <typename T, int kHalf>
TY_PORTABLE __m256i interleave(const __m256i& a, const __m256i& b) {
  return by_halves<__m256i>(interleave_half<T, kHalf>, a, b);
}
TY_PORTABLE __m256i _mm256_unpacklo_epi8(const __m256i& a, const __m256i& b) {
  return interleave<uint8_t, 0>(a, b);
}
TY_PORTABLE __m256i _mm256_unpackhi_epi8(const __m256i& a, const __m256i& b) {
  return interleave<uint8_t, 1>(a, b);
}
TY_PORTABLE __m256i _mm256_unpacklo_epi16(const __m256i& a, const __m256i& b) {
  return interleave<uint16_t, 0>(a, b);
}
TY_PORTABLE __m256i _mm256_unpackhi_epi16(const __m256i& a, const __m256i& b) {
  return interleave<uint16_t, 1>(a, b);
}
TY_PORTABLE __m256 _mm256_unpacklo_ps(const __m256& a, const __m256& b) {
  return by_halves<__m256>(
      [](__m128 x, __m128 y) { return __builtin_shufflevector(x, y, 0, 4, 1, 5); }, a, b);
}
TY_PORTABLE __m256 _mm256_unpackhi_ps(const __m256& a, const __m256& b) {
  return by_halves<__m256>(
      [](__m128 x, __m128 y) { return __builtin_shufflevector(x, y, 2, 6, 3, 7); }, a, b);
}
TY_PORTABLE __m128 _mm_movehl_ps(__m128 a, __m128 b) {
  return __builtin_shufflevector(a, b, 6, 7, 2, 3);
}
TY_PORTABLE __m128 _mm_movehdup_ps(__m128 a) {
  return __builtin_shufflevector(a, a, 1, 1, 3, 3);
}
// Two of a and two of b, in either half; two bits of `which` name each, the lowest first.
TY_PORTABLE constexpr int _MM_SHUFFLE(int d, int c, int b, int a) {
  return d << 6 | c << 4 | b << 2 | a;
}
TY_PORTABLE __m256 _mm256_shuffle_ps(const __m256& a, const __m256& b, int which) {
  return by_halves<__m256>(
      [&](__m128 x, __m128 y) {
        return __m128{x[which & 3], x[which >> 2 & 3], y[which >> 4 & 3], y[which >> 6 & 3]};
      },
      a, b);
}
// Two of the halves of a and b: bits 0 and 1 of `which` name the low one, bits 4 and 5 the high
// one.
template <typename V>
TY_PORTABLE V two_halves(const V& a, const V& b, int which) {
  const auto half = [&](int name) {
    return name == 0 ? a.low : name == 1 ? a.high : name == 2 ? b.low : b.high;
  };
  return {half(which & 3), half(which >> 4 & 3)};
}
TY_PORTABLE __m256 _mm256_permute2f128_ps(const __m256& a, const __m256& b, int which) {
  return two_halves(a, b, which);
}
TY_PORTABLE __m256i _mm256_permute2x128_si256(const __m256i& a, const __m256i& b, int which) {
  return two_halves(a, b, which);
}
TY_PORTABLE __m256d _mm256_permute4x64_pd(const __m256d& a, int which) {
  const auto one = [&](int name) { return name < 2 ? a.low[name] : a.high[name - 2]; };
  return {Vector16<double>{one(which & 3), one(which >> 2 & 3)},
          Vector16<double>{one(which >> 4 & 3), one(which >> 6 & 3)}};
}
TY_PORTABLE __m256i _mm256_permutevar8x32_epi32(const __m256i& a, const __m256i& order) {
  int32_t from[8];
  int32_t places[8];
  store_halves(from, a);
  store_halves(places, order);
  int32_t to[8];
  for (int i = 0; i < 8; ++i) to[i] = from[places[i] & 7];
  return load_halves<__m256i>(to);
}
// Bytes of x by number, in either half; 0 where the number is negative.
TY_PORTABLE __m128i _mm_shuffle_epi8(__m128i a, __m128i order) {
#if defined(__aarch64__)
  const auto places = vreinterpretq_u8_s64(order);
  return vreinterpretq_s64_u8(
      vqtbl1q_u8(vreinterpretq_u8_s64(a), vandq_u8(places, vdupq_n_u8(0x8f))));
#else
  const auto x = std::bit_cast<Vector16<int8_t>>(a);
  const auto places = std::bit_cast<Vector16<int8_t>>(order);
  return std::bit_cast<__m128i>(
      each<int8_t>([&](int i) { return places[i] < 0 ? int8_t{0} : x[places[i] & 15]; }));
#endif
}
TY_PORTABLE __m256i _mm256_shuffle_epi8(const __m256i& a, const __m256i& order) {
  return by_halves<__m256i>(_mm_shuffle_epi8, a, order);
}
// The bytes of b, then of a, from `by` on, in either half.
TY_PORTABLE __m256i _mm256_alignr_epi8(const __m256i& a, const __m256i& b, int by) {
  return by_halves_of<uint8_t>(
      [&](auto x, auto y) {
        return each<uint8_t>([&](int i) { return i + by < 16 ? y[i + by] : x[i + by - 16]; });
      },
      a, b);
}

#undef TY_PORTABLE

}  // namespace trainyard::kernels::native
