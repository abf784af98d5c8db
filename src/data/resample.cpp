#include "data/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace trainyard::data {
namespace {

// How one output position is made of input positions along one axis: weights[offset] onwards.
struct ResampleWeights {
  int64_t first = 0;
  int64_t count = 0;
  size_t offset = 0;
};

struct Axis {
  std::vector<ResampleWeights> taps;
  std::vector<float> weights;

  // A triangle as wide as the scale when shrinking, of width one when growing or plain.
  void set(int64_t from, int64_t to, bool plain) {
    taps.clear();
    weights.clear();
    const double scale = static_cast<double>(from) / static_cast<double>(to);
    const double radius = plain ? 1.0 : std::max(1.0, scale);
    for (int64_t i = 0; i < to; ++i) {
      const double center = (static_cast<double>(i) + 0.5) * scale;
      const auto first = std::max<int64_t>(0, static_cast<int64_t>(std::floor(center - radius)));
      const auto last = std::min(from, static_cast<int64_t>(std::ceil(center + radius)));
      taps.push_back({first, last - first, weights.size()});
      double sum = 0;
      for (int64_t j = first; j < last; ++j) {
        const double distance = std::fabs(static_cast<double>(j) + 0.5 - center) / radius;
        const double weight = std::max(0.0, 1.0 - distance);
        weights.push_back(static_cast<float>(weight));
        sum += weight;
      }
      for (size_t w = taps.back().offset; w < weights.size(); ++w) {
        weights[w] = static_cast<float>(weights[w] / sum);
      }
    }
  }
};

struct Scratch {
  Axis columns;
  Axis rows;
  std::vector<float> row;
};

// row = the weighted sum of rows, as wide as the source. Vectorized, so it comes first: it is
// where most of the reading is done when pictures shrink.
[[gnu::always_inline]] inline void sum_rows(const uint8_t* from, int64_t stride,
                                            const ResampleWeights& taps, const float* weights,
                                            std::span<float> row) {
  std::fill(row.begin(), row.end(), 0.0F);
  for (int64_t t = 0; t < taps.count; ++t) {
    const uint8_t* source = from + (taps.first + t) * stride;
    const float weight = weights[t];
    for (size_t i = 0; i < row.size(); ++i) row[i] += weight * source[i];
  }
}

using BlendRows = void (*)(const uint8_t*, int64_t, const ResampleWeights&, const float*,
                           std::span<float>);

void blend_rows(const uint8_t* from, int64_t stride, const ResampleWeights& taps,
                const float* weights, std::span<float> row) {
  sum_rows(from, stride, taps, weights, row);
}

#if defined(__x86_64__)
// The same sums, eight at a time; without FMA, which would round them otherwise.
[[gnu::target("avx2")]] void blend_rows_avx2(const uint8_t* from, int64_t stride,
                                             const ResampleWeights& taps, const float* weights,
                                             std::span<float> row) {
  sum_rows(from, stride, taps, weights, row);
}

BlendRows best_blend_rows() {
  return __builtin_cpu_supports("avx2") != 0 ? blend_rows_avx2 : blend_rows;
}
#else
BlendRows best_blend_rows() {
  return blend_rows;
}
#endif

constexpr float kRounds = 0.5F;  // added, so that cutting off the fraction rounds

void blend_plane_columns(const float* row, const Axis& columns, uint8_t* to) {
  for (const ResampleWeights& taps : columns.taps) {
    const float* weights = columns.weights.data() + taps.offset;
    float sum = kRounds;
    for (int64_t t = 0; t < taps.count; ++t) sum += weights[t] * row[taps.first + t];
    *to++ = static_cast<uint8_t>(std::min(255, static_cast<int>(sum)));
  }
}

constexpr int64_t kPixelBytes = 3;

#if defined(__x86_64__)
// Three colors in a vector of four; what the fourth lane reads behind a pixel does not matter.
void blend_pixel_columns(const float* row, const Axis& columns, uint8_t* to) {
  for (const ResampleWeights& taps : columns.taps) {
    const float* weights = columns.weights.data() + taps.offset;
    const float* source = row + taps.first * kPixelBytes;
    __m128 sum = _mm_set1_ps(kRounds);
    for (int64_t t = 0; t < taps.count; ++t) {
      const __m128 pixel = _mm_loadu_ps(source + t * kPixelBytes);
      sum = _mm_add_ps(sum, _mm_mul_ps(_mm_set1_ps(weights[t]), pixel));
    }
    const __m128i whole = _mm_cvttps_epi32(sum);
    const __m128i words = _mm_packs_epi32(whole, whole);
    const int bytes = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
    std::memcpy(to, &bytes, kPixelBytes);
    to += kPixelBytes;
  }
}
#else
void blend_pixel_columns(const float* row, const Axis& columns, uint8_t* to) {
  for (const ResampleWeights& taps : columns.taps) {
    const float* weights = columns.weights.data() + taps.offset;
    const float* source = row + taps.first * kPixelBytes;
    float sums[kPixelBytes] = {kRounds, kRounds, kRounds};
    for (int64_t t = 0; t < taps.count; ++t) {
      for (int64_t c = 0; c < kPixelBytes; ++c) sums[c] += weights[t] * source[t * kPixelBytes + c];
    }
    for (const float sum : sums)
      *to++ = static_cast<uint8_t>(std::clamp(static_cast<int>(sum), 0, 255));
  }
}
#endif

}  // namespace

void resample(const PixelRows& from, int64_t height, int64_t width, uint8_t* to, bool plain) {
  static const BlendRows kBlendRows = best_blend_rows();
  thread_local Scratch scratch;
  scratch.columns.set(from.width, width, plain);
  scratch.rows.set(from.height, height, plain);
  const auto samples = static_cast<size_t>(from.width * from.channels);
  scratch.row.resize(samples + 1);  // a vector of three colors reads one more
  const std::span<float> row(scratch.row.data(), samples);
  const auto blend_columns = from.channels == 1 ? blend_plane_columns : blend_pixel_columns;
  for (int64_t plane = 0; plane < from.planes; ++plane) {
    const uint8_t* source = from.data + plane * from.plane_stride;
    for (const ResampleWeights& taps : scratch.rows.taps) {
      kBlendRows(source, from.stride, taps, scratch.rows.weights.data() + taps.offset, row);
      blend_columns(row.data(), scratch.columns, to);
      to += width * from.channels;
    }
  }
}

}  // namespace trainyard::data
