// Depthwise convolutions of bytes by weights of any eight bits with AVX2: both are widened to 16
// bits, whose products are added in 32. Local to the file that includes it.
#pragma once

#include <cstdint>
#include <cstring>

#include "engine/kernels/native/int8/byte_kernels.h"
#include "engine/kernels/native/repeat.h"
#include "engine/kernels/native/vectors.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kWideChannels = 16;              // of a depthwise block
constexpr int64_t kPairBytes = 4 * kWideChannels;  // words of two rows at one pixel
constexpr int64_t kWideSegment = 64;               // columns gathered at a time
constexpr int64_t kMostPairs = kMostDepthwiseRows / 2;

// Channel of element `i` of half `h` of a block: what interleaving words in lanes gives.
int64_t wide_channel_at(int64_t h, int64_t i) {
  return i / 4 * 8 + h * 4 + i % 4;
}

int64_t row_pairs(int64_t window_rows) {
  return (window_rows + 1) / 2;
}

int64_t wide_depthwise_bytes(int64_t window_rows, int64_t window_columns) {
  return kWideChannels * 8 + row_pairs(window_rows) * window_columns * kPairBytes;
}

// Biases, multipliers, then the weights of two rows by half, column and pair, widened, in the order
// of the sums.
void wide_pack_depthwise(const int8_t* weights, const int32_t* bias, const float* multiplier,
                         int64_t window_rows, int64_t window_columns, void* packed) {
  auto* to_bias = static_cast<int32_t*>(packed);
  auto* to_multiplier = reinterpret_cast<float*>(to_bias + kWideChannels);
  auto* to = reinterpret_cast<int16_t*>(to_multiplier + kWideChannels);
  for (int64_t at = 0; at < kWideChannels; ++at) {
    const int64_t channel = wide_channel_at(at / 8, at % 8);
    to_bias[at] = bias[channel];
    to_multiplier[at] = multiplier[channel];
  }
  for (int64_t half = 0; half < 2; ++half) {
    for (int64_t column = 0; column < window_columns; ++column) {
      for (int64_t row = 0; row < row_pairs(window_rows) * 2; row += 2) {
        for (int64_t i = 0; i < kWideChannels; ++i) {
          const int64_t channel = wide_channel_at(half, i / 2);
          const int64_t at = row + i % 2;
          *to++ = at < window_rows ? weights[(channel * window_rows + at) * window_columns + column]
                                   : int8_t{0};
        }
      }
    }
  }
}

// 16 channels of a pixel as words; fewer if there are fewer.
__m256i load_words(const uint8_t* from, int64_t channels) {
  if (channels >= kWideChannels) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  alignas(16) uint8_t some[kWideChannels] = {};
  std::memcpy(some, from, static_cast<size_t>(channels));
  return _mm256_cvtepu8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(some)));
}

// `count` columns from pixel `first` on (which may lie outside) into `to`, by column and pair of
// rows: the words of a channel together, both halves.
void gather_pairs(const DepthwiseRow& job, int64_t first, int64_t count, uint8_t* to) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t pixel = first + i;
    const bool inside = pixel >= 0 && pixel < job.width;
    for (int64_t row = 0; row < job.window_rows; row += 2, to += kPairBytes) {
      const auto words = [&](int64_t at) {
        if (at >= job.window_rows) return _mm256_setzero_si256();
        return load_words(inside ? job.rows[at] + pixel * job.pixel : job.outside, job.channels);
      };
      const __m256i a = words(row);
      const __m256i b = words(row + 1);
      auto* pair = reinterpret_cast<__m256i*>(to);
      _mm256_store_si256(pair, _mm256_unpacklo_epi16(a, b));
      _mm256_store_si256(pair + 1, _mm256_unpackhi_epi16(a, b));
    }
  }
}

// Sums of eight channels of `results` pixels, every 16 numbers. With the size of the window known,
// its weights stay in registers.
template <int kColumns, int kPairs>
void sum_half(const DepthwiseRow& job, const uint8_t* columns, int64_t results, int64_t half,
              int32_t* sums) {
  const auto* bias = static_cast<const int32_t*>(job.packed);
  const int64_t pairs = kPairs > 0 ? kPairs : row_pairs(job.window_rows);
  const int64_t across = kColumns > 0 ? kColumns : job.window_columns;
  const auto* weights =
      reinterpret_cast<const __m256i*>(bias + 2 * kWideChannels) + half * across * pairs;
  const auto load = [](const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  };
  const __m256i start = load(bias + half * 8);
  const int64_t between = job.dilation * pairs * kPairBytes;
  columns += half * kPairBytes / 2;
  for (int64_t i = 0; i < results; ++i, columns += job.stride * pairs * kPairBytes) {
    __m256i sum = start;
    const auto add = [&](int64_t column, int64_t pair) {
      const __m256i x = load(columns + column * between + pair * kPairBytes);
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(x, load(weights + column * pairs + pair)));
    };
    if constexpr (kColumns > 0) {
      repeat<kColumns>([&](auto column) { repeat<kPairs>([&](auto pair) { add(column, pair); }); });
    } else {
      for (int64_t column = 0; column < across; ++column) {
        for (int64_t pair = 0; pair < pairs; ++pair) add(column, pair);
      }
    }
    _mm256_store_si256(reinterpret_cast<__m256i*>(sums + i * kWideChannels + half * 8), sum);
  }
}

struct WideEnd {
  __m256 multiplier[2];
  __m256i shift;
  __m128i low;
  __m128i high;
  int64_t channels;

  explicit WideEnd(const DepthwiseRow& job)
      : shift(_mm256_set1_epi16(static_cast<int16_t>(job.finish->zero))),
        low(_mm_set1_epi8(static_cast<char>(job.finish->low))),
        high(_mm_set1_epi8(static_cast<char>(job.finish->high))),
        channels(job.channels) {
    const float* from = static_cast<const float*>(job.packed) + kWideChannels;
    repeat<2>([&](auto h) { multiplier[h] = _mm256_loadu_ps(from + h * 8); });
  }

  void store(const int32_t* sums, uint8_t* y) const {
    __m256i steps[2];
    repeat<2>([&](auto h) {
      const __m256i sum = _mm256_load_si256(reinterpret_cast<const __m256i*>(sums + h * 8));
      steps[h] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), multiplier[h]));
    });
    const __m256i words = _mm256_adds_epi16(_mm256_packs_epi32(steps[0], steps[1]), shift);
    __m128i bytes =
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    bytes = _mm_min_epu8(_mm_max_epu8(bytes, low), high);
    if (channels >= kWideChannels) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(y), bytes);
    } else {
      alignas(16) uint8_t some[kWideChannels];
      _mm_store_si128(reinterpret_cast<__m128i*>(some), bytes);
      std::memcpy(y, some, static_cast<size_t>(channels));
    }
  }
};

void wide_depthwise(const DepthwiseRow& job) {
  alignas(32) uint8_t columns[kWideSegment * kMostPairs * kPairBytes];
  alignas(32) int32_t sums[kWideSegment * kWideChannels];
  const WideEnd end(job);
  const int64_t span = (job.window_columns - 1) * job.dilation + 1;
  const int64_t most = (kWideSegment - span) / job.stride + 1;
  const bool three = job.window_columns == 3 && row_pairs(job.window_rows) == 2;
  for (int64_t begin = 0; begin < job.results; begin += most) {
    const int64_t results = most < job.results - begin ? most : job.results - begin;
    gather_pairs(job, begin * job.stride - job.pad, (results - 1) * job.stride + span, columns);
    for (int64_t half = 0; half < 2; ++half) {
      (three ? sum_half<3, 2> : sum_half<0, 0>)(job, columns, results, half, sums);
    }
    for (int64_t i = 0; i < results; ++i) {
      end.store(sums + i * kWideChannels, job.y + (begin + i) * job.pixel);
    }
  }
}

constexpr DepthwiseKernel kAvx2WideDepthwise = {.channels = kWideChannels,
                                                .bytes = wide_depthwise_bytes,
                                                .pack = wide_pack_depthwise,
                                                .run = wide_depthwise};

}  // namespace
}  // namespace trainyard::kernels::native
