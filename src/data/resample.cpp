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

  // A triangle as wide as the scale when shrinking, of width one when growing.
  void set(int64_t from, int64_t to) {
    taps.clear();
    weights.clear();
    const double scale = static_cast<double>(from) / static_cast<double>(to);
    const double radius = std::max(1.0, scale);
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
  std::vector<float> narrowed;
  std::vector<float> sums;
};

template <int64_t kChannels>
void narrow_row(const uint8_t* from, const Axis& columns, float* to) {
  for (const Taps& taps : columns.taps) {
    const float* weights = columns.weights.data() + taps.offset;
    for (int64_t c = 0; c < kChannels; ++c) {
      float sum = 0;
      for (int64_t t = 0; t < taps.count; ++t) {
        sum += weights[t] * from[(taps.first + t) * kChannels + c];
      }
      *to++ = sum;
    }
  }
}

// sums = the weighted sum of rows; to = sums, rounded.
void blend_rows(const Taps& taps, const float* weights, const float* rows, std::vector<float>& sums,
                uint8_t* to) {
  std::fill(sums.begin(), sums.end(), 0.5F);
  for (int64_t t = 0; t < taps.count; ++t) {
    const float* row = rows + (taps.first + t) * static_cast<int64_t>(sums.size());
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += weights[t] * row[i];
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    to[i] = static_cast<uint8_t>(std::min(255, static_cast<int>(sums[i])));
  }
}

}  // namespace

void resample(const PixelRows& from, int64_t channels, int64_t height, int64_t width, uint8_t* to) {
  thread_local Scratch scratch;
  scratch.columns.set(from.width, width);
  scratch.rows.set(from.height, height);
  const int64_t row = width * channels;
  scratch.narrowed.resize(static_cast<size_t>(from.height * row));
  scratch.sums.resize(static_cast<size_t>(row));
  for (int64_t y = 0; y < from.height; ++y) {
    float* narrowed = scratch.narrowed.data() + y * row;
    if (channels == 1) {
      narrow_row<1>(from.data + y * from.stride, scratch.columns, narrowed);
    } else {
      narrow_row<3>(from.data + y * from.stride, scratch.columns, narrowed);
    }
  }
  for (int64_t y = 0; y < height; ++y) {
    const Taps& taps = scratch.rows.taps[static_cast<size_t>(y)];
    blend_rows(taps, scratch.rows.weights.data() + taps.offset, scratch.narrowed.data(),
               scratch.sums, to + y * row);
  }
}

}  // namespace trainyard::data
