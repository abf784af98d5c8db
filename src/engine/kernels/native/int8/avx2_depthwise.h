// Depthwise convolutions of bytes with AVX2, for weights of seven bits: the bytes of four rows are
// interleaved, products of two rows are added in 16 bits, which such weights allow, and then in 32.
// Local to the file that includes it.
#pragma once

#include <cstdint>
#include <cstring>

#include "engine/kernels/native/int8/byte_kernels.h"
#include "engine/kernels/native/int8/depthwise_order.h"
#include "engine/kernels/native/repeat.h"
#include "engine/kernels/native/vectors.h"

namespace trainyard::kernels::native {
namespace {

class Avx2Depthwise {
 public:
  static constexpr int64_t kChannels = 32;

  static int64_t bytes(int64_t window_rows, int64_t window_columns) {
    const int64_t below =
        window_rows == kTwoRowsWindow ? window_columns * kChannels * kRowGroup : 0;
    return ordered_bytes<kChannels>(window_rows, window_columns) + below;
  }

  static void pack(const int8_t* weights, const int32_t* bias, const float* multiplier,
                   int64_t window_rows, int64_t window_columns, void* packed) {
    int8_t* end =
        pack_ordered<kChannels>(weights, bias, multiplier, window_rows, window_columns, packed);
    if (window_rows != kTwoRowsWindow) return;
    pack_ordered_weights<kChannels>(weights, window_rows, window_columns, 1, end);
  }

  static void run(const DepthwiseRow& job) {
    const Avx2Depthwise row(job);
    if (job.window_columns != 3 || row_groups(job.window_rows) != 1) {
      row.add_all<0, 1>();
    } else if (job.below == nullptr) {
      row.add_all<3, 1>();
    } else {
      row.add_all<3, 2>();
    }
  }

 private:
  static constexpr int64_t kQuarter = kChannels / kQuarters;
  static constexpr int64_t kVectorBytes = 32;
  static constexpr int64_t kGroupBytes = kChannels * kRowGroup;
  static constexpr int64_t kSegment = 64;  // columns interleaved at a time

  explicit Avx2Depthwise(const DepthwiseRow& job)
      : job_(job),
        bias_(static_cast<const int32_t*>(job.packed)),
        multiplier_(reinterpret_cast<const float*>(bias_ + kChannels)),
        weights_(reinterpret_cast<const int8_t*>(multiplier_ + kChannels)) {}

  static __m256i load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }

  // What lies behind the last channel meets weights of zero, but must be there.
  __m256i load_channels(const uint8_t* from) const {
    if (job_.channels >= kChannels || from + kChannels <= job_.end) return load(from);
    alignas(32) uint8_t some[kChannels] = {};
    std::memcpy(some, from, static_cast<size_t>(job_.channels));
    return load(some);
  }

  void gather(int64_t first, int64_t count, uint8_t* to) const {
    const int64_t groups = row_groups(job_.window_rows);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t pixel = first + i;
      const bool inside = pixel >= 0 && pixel < job_.width;
      for (int64_t group = 0; group < groups; ++group, to += kGroupBytes) {
        __m256i x[kRowGroup];
        repeat<kRowGroup>([&](auto r) TY_INLINE {
          x[r] = inside ? load_channels(job_.rows[group * kRowGroup + r] + pixel * job_.pixel)
                        : load(job_.outside);
        });
        const __m256i low01 = _mm256_unpacklo_epi8(x[0], x[1]);
        const __m256i high01 = _mm256_unpackhi_epi8(x[0], x[1]);
        const __m256i low23 = _mm256_unpacklo_epi8(x[2], x[3]);
        const __m256i high23 = _mm256_unpackhi_epi8(x[2], x[3]);
        auto* quarters = reinterpret_cast<__m256i*>(to);
        _mm256_store_si256(quarters, _mm256_unpacklo_epi16(low01, low23));
        _mm256_store_si256(quarters + 1, _mm256_unpackhi_epi16(low01, low23));
        _mm256_store_si256(quarters + 2, _mm256_unpacklo_epi16(high01, high23));
        _mm256_store_si256(quarters + 3, _mm256_unpackhi_epi16(high01, high23));
      }
    }
  }

  // Rounded products of a quarter of the channels with kRows rows of results, which lie kSegment
  // results apart. With the number of columns known, weights stay in registers.
  template <int kColumns, int kRows>
  void add_quarter(const uint8_t* columns, int64_t results, int64_t quarter, int32_t* steps) const {
    const int64_t groups = kColumns > 0 ? 1 : row_groups(job_.window_rows);
    const int64_t across = kColumns > 0 ? kColumns : job_.window_columns;
    const int8_t* weights = weights_ + quarter * kVectorBytes;
    const int64_t below = across * kGroupBytes;
    const __m256i start = load(bias_ + quarter * kQuarter);
    const __m256 multiplier = _mm256_loadu_ps(multiplier_ + quarter * kQuarter);
    const __m256i ones = _mm256_set1_epi16(1);
    const int64_t advance = job_.stride * groups * kGroupBytes;
    columns += quarter * kVectorBytes;
    for (int64_t i = 0; i < results; ++i, columns += advance) {
      __m256i sums[kRows];
      repeat<kRows>([&](auto row) TY_INLINE { sums[row] = start; });
      const auto add = [&](int64_t column, int64_t group) TY_INLINE {
        const __m256i x = load(columns + (column * job_.dilation * groups + group) * kGroupBytes);
        repeat<kRows>([&](auto row) TY_INLINE {
          const __m256i w = load(weights + row * below + (group * across + column) * kGroupBytes);
          sums[row] =
              _mm256_add_epi32(sums[row], _mm256_madd_epi16(_mm256_maddubs_epi16(x, w), ones));
        });
      };
      if constexpr (kColumns > 0) {
        repeat<kColumns>([&](auto column) TY_INLINE { add(column, 0); });
      } else {
        for (int64_t column = 0; column < across; ++column) {
          for (int64_t group = 0; group < groups; ++group) add(column, group);
        }
      }
      repeat<kRows>([&](auto row) TY_INLINE {
        const __m256 step = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[row]), multiplier);
        int32_t* to = steps + (row * kSegment + i) * kChannels + quarter * kQuarter;
        _mm256_store_si256(reinterpret_cast<__m256i*>(to), _mm256_cvtps_epi32(step));
      });
    }
  }

  void store(const int32_t* steps, int64_t results, uint8_t* y) const {
    const __m256i shift = _mm256_set1_epi16(static_cast<int16_t>(job_.finish->zero));
    const __m256i low = _mm256_set1_epi8(static_cast<char>(job_.finish->low));
    const __m256i high = _mm256_set1_epi8(static_cast<char>(job_.finish->high));
    for (int64_t i = 0; i < results; ++i, steps += kChannels, y += job_.pixel) {
      const auto words = [&](int64_t pair) {
        const int32_t* from = steps + pair * 2 * kQuarter;
        return _mm256_adds_epi16(_mm256_packs_epi32(load(from), load(from + kQuarter)), shift);
      };
      __m256i bytes = _mm256_packus_epi16(words(0), words(1));
      bytes = _mm256_min_epu8(_mm256_max_epu8(bytes, low), high);
      if (job_.channels >= kChannels) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), bytes);
      } else if (job_.channels == kChannels / 2) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm256_castsi256_si128(bytes));
      } else {
        alignas(32) uint8_t some[kChannels];
        _mm256_store_si256(reinterpret_cast<__m256i*>(some), bytes);
        std::memcpy(y, some, static_cast<size_t>(job_.channels));
      }
    }
  }

  template <int kColumns, int kRows>
  void add_all() const {
    alignas(32) uint8_t columns[kSegment * kMostRowGroups * kGroupBytes];
    alignas(32) int32_t steps[kRows * kSegment * kChannels];
    const int64_t span = (job_.window_columns - 1) * job_.dilation + 1;
    const int64_t most = (kSegment - span) / job_.stride + 1;
    for (int64_t begin = 0; begin < job_.results; begin += most) {
      const int64_t results = most < job_.results - begin ? most : job_.results - begin;
      gather(begin * job_.stride - job_.pad, (results - 1) * job_.stride + span, columns);
      for (int64_t quarter = 0; quarter < kQuarters; ++quarter) {
        add_quarter<kColumns, kRows>(columns, results, quarter, steps);
      }
      store(steps, results, job_.y + begin * job_.pixel);
      if (kRows > 1) {
        store(steps + kSegment * kChannels, results, job_.below + begin * job_.pixel);
      }
    }
  }

  const DepthwiseRow& job_;
  const int32_t* bias_;
  const float* multiplier_;
  const int8_t* weights_;
};

constexpr DepthwiseKernel kAvx2Depthwise = {.channels = Avx2Depthwise::kChannels,
                                            .takes_two = true,
                                            .bytes = Avx2Depthwise::bytes,
                                            .pack = Avx2Depthwise::pack,
                                            .run = Avx2Depthwise::run};

}  // namespace
}  // namespace trainyard::kernels::native
