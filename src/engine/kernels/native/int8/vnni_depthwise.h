// Depthwise convolutions of bytes with VNNI. The bytes of up to four rows of a window are
// interleaved, so that one instruction adds the products of a column; what is local to a file stays
// so, see vnni_kernels.cpp.
#pragma once

#include <cstdint>
#include <immintrin.h>

#include "engine/kernels/native/int8/byte_kernels.h"
#include "engine/kernels/native/int8/depthwise_order.h"
#include "engine/kernels/native/repeat.h"

namespace trainyard::kernels::native {
namespace {

struct Bytes64 {
  static constexpr int64_t kChannels = 64;
  using Vector = __m512i;
  using Mask = __mmask64;
  static Mask first(int64_t count) {
    return count >= kChannels ? ~Mask{0} : (Mask{1} << static_cast<unsigned>(count)) - 1;
  }
  static Vector all16(int32_t x) { return _mm512_set1_epi16(static_cast<int16_t>(x)); }
  static Vector all8(int32_t x) { return _mm512_set1_epi8(static_cast<char>(x)); }
  static Vector load(const void* from) { return _mm512_loadu_si512(from); }
  static Vector load(const uint8_t* from, Mask mask) { return _mm512_maskz_loadu_epi8(mask, from); }
  static void store(uint8_t* to, Mask mask, Vector x) { _mm512_mask_storeu_epi8(to, mask, x); }
  static Vector low8(Vector a, Vector b) { return _mm512_unpacklo_epi8(a, b); }
  static Vector high8(Vector a, Vector b) { return _mm512_unpackhi_epi8(a, b); }
  static Vector low16(Vector a, Vector b) { return _mm512_unpacklo_epi16(a, b); }
  static Vector high16(Vector a, Vector b) { return _mm512_unpackhi_epi16(a, b); }
  static Vector dot(Vector sum, Vector x, Vector w) { return _mm512_dpbusd_epi32(sum, x, w); }
  static Vector steps(Vector sum, const float* multiplier) {
    return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_loadu_ps(multiplier)));
  }
  static Vector words(Vector a, Vector b, Vector shift) {
    return _mm512_adds_epi16(_mm512_packs_epi32(a, b), shift);
  }
  static Vector bytes(Vector a, Vector b, Vector low, Vector high) {
    return _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(a, b), low), high);
  }
};

struct Bytes32 {
  static constexpr int64_t kChannels = 32;
  using Vector = __m256i;
  using Mask = __mmask32;
  static Mask first(int64_t count) {
    return count >= kChannels ? ~Mask{0} : (Mask{1} << static_cast<unsigned>(count)) - 1;
  }
  static Vector all16(int32_t x) { return _mm256_set1_epi16(static_cast<int16_t>(x)); }
  static Vector all8(int32_t x) { return _mm256_set1_epi8(static_cast<char>(x)); }
  static Vector load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  static Vector load(const uint8_t* from, Mask mask) { return _mm256_maskz_loadu_epi8(mask, from); }
  static void store(uint8_t* to, Mask mask, Vector x) { _mm256_mask_storeu_epi8(to, mask, x); }
  static Vector low8(Vector a, Vector b) { return _mm256_unpacklo_epi8(a, b); }
  static Vector high8(Vector a, Vector b) { return _mm256_unpackhi_epi8(a, b); }
  static Vector low16(Vector a, Vector b) { return _mm256_unpacklo_epi16(a, b); }
  static Vector high16(Vector a, Vector b) { return _mm256_unpackhi_epi16(a, b); }
  static Vector dot(Vector sum, Vector x, Vector w) { return _mm256_dpbusd_epi32(sum, x, w); }
  static Vector steps(Vector sum, const float* multiplier) {
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_loadu_ps(multiplier)));
  }
  static Vector words(Vector a, Vector b, Vector shift) {
    return _mm256_adds_epi16(_mm256_packs_epi32(a, b), shift);
  }
  static Vector bytes(Vector a, Vector b, Vector low, Vector high) {
    return _mm256_min_epu8(_mm256_max_epu8(_mm256_packus_epi16(a, b), low), high);
  }
};

template <typename V>
class VnniDepthwise {
 public:
  static void run(const DepthwiseRow& job) {
    const VnniDepthwise row(job);
    const bool slides =
        job.window_columns == 3 && job.dilation == 1 && row_groups(job.window_rows) == 1;
    if (slides && job.stride == 1) return row.template slide<1>();
    if (slides && job.stride == 2) return row.template slide<2>();
    row.gather_and_add();
  }

 private:
  using Vector = typename V::Vector;
  static constexpr int64_t kQuarter = V::kChannels / kQuarters;  // sums in a vector
  static constexpr int64_t kGroupBytes = V::kChannels * kRowGroup;

  explicit VnniDepthwise(const DepthwiseRow& job)
      : job_(job),
        bias_(static_cast<const int32_t*>(job.packed)),
        multiplier_(reinterpret_cast<const float*>(bias_ + V::kChannels)),
        weights_(reinterpret_cast<const int8_t*>(multiplier_ + V::kChannels)),
        shift_(V::all16(job.finish->zero)),
        low_(V::all8(job.finish->low)),
        high_(V::all8(job.finish->high)),
        mask_(V::first(job.channels)) {}

  // Four rows at a pixel, which may lie outside: the bytes of a channel together.
  TY_INLINE void fetch(int64_t pixel, int64_t group, Vector* to) const {
    const bool inside = pixel >= 0 && pixel < job_.width;
    const uint8_t* const* rows = job_.rows + group * kRowGroup;
    Vector x[kRowGroup];
    repeat<kRowGroup>([&](auto r) TY_INLINE {
      x[r] = V::load(inside ? rows[r] + pixel * job_.pixel : job_.outside, mask_);
    });
    const Vector low01 = V::low8(x[0], x[1]);
    const Vector high01 = V::high8(x[0], x[1]);
    const Vector low23 = V::low8(x[2], x[3]);
    const Vector high23 = V::high8(x[2], x[3]);
    to[0] = V::low16(low01, low23);
    to[1] = V::high16(low01, low23);
    to[2] = V::low16(high01, high23);
    to[3] = V::high16(high01, high23);
  }

  TY_INLINE void store(const Vector* sums, uint8_t* y) const {
    Vector steps[kQuarters];
    repeat<kQuarters>([&](auto q)
                          TY_INLINE { steps[q] = V::steps(sums[q], multiplier_ + q * kQuarter); });
    const Vector first = V::words(steps[0], steps[1], shift_);
    const Vector second = V::words(steps[2], steps[3], shift_);
    V::store(y, mask_, V::bytes(first, second, low_, high_));
  }

  // Three columns, which stay in registers while the window moves: column c in slot c mod 3.
  template <int kStride>
  void slide() const {
    constexpr int kColumns = 3;
    Vector weights[kColumns][kQuarters];
    repeat<kColumns>([&](auto c) TY_INLINE {
      repeat<kQuarters>([&](auto q) TY_INLINE {
        weights[c][q] = V::load(weights_ + c * kGroupBytes + q * kQuarter * kRowGroup);
      });
    });
    Vector x[kColumns][kQuarters];
    int64_t pixel = -job_.pad;
    repeat<kColumns - kStride>([&](auto c) TY_INLINE { fetch(pixel + c, 0, x[c]); });
    for (int64_t i = 0; i < job_.results; i += kColumns, pixel += kColumns * kStride) {
      repeat<kColumns>([&](auto k) TY_INLINE {
        if (i + k >= job_.results) return;
        repeat<kStride>([&](auto n) TY_INLINE {
          constexpr int kColumn =
              (decltype(k)::value - 1) * kStride + kColumns + decltype(n)::value;
          fetch(pixel + kColumn, 0, x[kColumn % kColumns]);
        });
        Vector sums[kQuarters];
        repeat<kQuarters>([&](auto q) TY_INLINE { sums[q] = V::load(bias_ + q * kQuarter); });
        repeat<kColumns>([&](auto c) TY_INLINE {
          constexpr int kSlot = (decltype(k)::value * kStride + decltype(c)::value) % kColumns;
          repeat<kQuarters>(
              [&](auto q) TY_INLINE { sums[q] = V::dot(sums[q], x[kSlot][q], weights[c][q]); });
        });
        store(sums, job_.y + (i + k) * job_.pixel);
      });
    }
  }

  // Any window: columns are interleaved into a buffer first, a segment at a time.
  void gather_and_add() const {
    constexpr int64_t kSegment = 64;
    Vector columns[kSegment * kMostRowGroups][kQuarters];
    const int64_t groups = row_groups(job_.window_rows);
    const int64_t span = (job_.window_columns - 1) * job_.dilation + 1;
    const int64_t most = (kSegment - span) / job_.stride + 1;
    for (int64_t begin = 0; begin < job_.results; begin += most) {
      const int64_t results = most < job_.results - begin ? most : job_.results - begin;
      const int64_t first = begin * job_.stride - job_.pad;
      for (int64_t i = 0; i < (results - 1) * job_.stride + span; ++i) {
        for (int64_t g = 0; g < groups; ++g) fetch(first + i, g, columns[i * groups + g]);
      }
      for (int64_t i = 0; i < results; ++i) {
        Vector sums[kQuarters];
        repeat<kQuarters>([&](auto q) TY_INLINE { sums[q] = V::load(bias_ + q * kQuarter); });
        for (int64_t c = 0; c < job_.window_columns; ++c) {
          for (int64_t g = 0; g < groups; ++g) {
            const Vector* x = columns[(i * job_.stride + c * job_.dilation) * groups + g];
            const int8_t* w = weights_ + (g * job_.window_columns + c) * kGroupBytes;
            repeat<kQuarters>([&](auto q) TY_INLINE {
              sums[q] = V::dot(sums[q], x[q], V::load(w + q * kQuarter * kRowGroup));
            });
          }
        }
        store(sums, job_.y + (begin + i) * job_.pixel);
      }
    }
  }

  const DepthwiseRow& job_;
  const int32_t* bias_;
  const float* multiplier_;
  const int8_t* weights_;
  Vector shift_;
  Vector low_;
  Vector high_;
  typename V::Mask mask_;
};

}  // namespace
}  // namespace trainyard::kernels::native
