#include "data/resample.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace trainyard::data {
namespace {

// How one output position is made of input positions along one axis: weights[offset] onwards.
struct Taps {
  int64_t first = 0;
  int64_t count = 0;
  size_t offset = 0;
};

struct Axis {
  std::vector<Taps> taps;
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
void blend_rows(const uint8_t* from, int64_t stride, const Taps& taps, const float* weights,
                std::vector<float>& row) {
  std::fill(row.begin(), row.end(), 0.0F);
  for (int64_t t = 0; t < taps.count; ++t) {
    const uint8_t* source = from + (taps.first + t) * stride;
    const float weight = weights[t];
    for (size_t i = 0; i < row.size(); ++i) row[i] += weight * source[i];
  }
}

template <int64_t kChannels>
void blend_columns(const float* row, const Axis& columns, uint8_t* to) {
  for (const Taps& taps : columns.taps) {
    const float* weights = columns.weights.data() + taps.offset;
    const float* source = row + taps.first * kChannels;
    for (int64_t c = 0; c < kChannels; ++c) {
      float sum = 0.5F;  // so that cutting off the fraction rounds
      for (int64_t t = 0; t < taps.count; ++t) sum += weights[t] * source[t * kChannels + c];
      *to++ = static_cast<uint8_t>(std::min(255, static_cast<int>(sum)));
    }
  }
}

}  // namespace

void resample(const PixelRows& from, int64_t height, int64_t width, uint8_t* to, bool plain) {
  thread_local Scratch scratch;
  scratch.columns.set(from.width, width, plain);
  scratch.rows.set(from.height, height, plain);
  scratch.row.resize(static_cast<size_t>(from.width * from.channels));
  for (int64_t plane = 0; plane < from.planes; ++plane) {
    const uint8_t* source = from.data + plane * from.plane_stride;
    for (const Taps& taps : scratch.rows.taps) {
      blend_rows(source, from.stride, taps, scratch.rows.weights.data() + taps.offset, scratch.row);
      if (from.channels == 1) {
        blend_columns<1>(scratch.row.data(), scratch.columns, to);
      } else {
        blend_columns<3>(scratch.row.data(), scratch.columns, to);
      }
      to += width * from.channels;
    }
  }
}

}  // namespace trainyard::data
