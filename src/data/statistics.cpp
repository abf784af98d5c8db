#include "data/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace trainyard::data {
namespace {

// Whole numbers, so that the result does not depend on the order.
struct Sums {
  uint64_t count = 0;
  uint64_t values = 0;
  uint64_t squares = 0;

  void add(const uint8_t* bytes, int64_t length) {
    constexpr int64_t kBlock = 1 << 15;  // the squares of a block fit into 32 bits
    for (int64_t begin = 0; begin < length; begin += kBlock) {
      const int64_t end = std::min(length, begin + kBlock);
      uint32_t sum = 0;
      uint32_t sum_of_squares = 0;
      for (int64_t i = begin; i < end; ++i) {
        const uint32_t value = bytes[i];
        sum += value;
        sum_of_squares += value * value;
      }
      values += sum;
      squares += sum_of_squares;
    }
    count += static_cast<uint64_t>(length);
  }
  double mean() const {
    return count == 0 ? 0 : static_cast<double>(values) / static_cast<double>(count);
  }
  double std() const {
    if (count == 0) return 0;
    return std::sqrt(
        std::max(0.0, static_cast<double>(squares) / static_cast<double>(count) - mean() * mean()));
  }
};

void widen(int64_t value, int64_t& least, int64_t& most) {
  least = least == 0 ? value : std::min(least, value);
  most = std::max(most, value);
}

}  // namespace

Statistics measure_statistics(const Dataset& dataset, int64_t most) {
  Statistics all;
  all.class_counts.resize(static_cast<size_t>(dataset.num_classes()));
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const int64_t label = dataset.label(i);
    if (label != kNoLabel) ++all.class_counts[static_cast<size_t>(label)];
  }
  const int64_t samples = std::min(most, dataset.size());
  std::vector<Sums> channels(static_cast<size_t>(dataset.shape().channels));
  Pixels room;
  for (int64_t i = 0; i < samples; ++i) {
    try {
      const PixelView picture = dataset.pixels(i * dataset.size() / samples, room);
      for (size_t c = 0; c < channels.size(); ++c) {
        channels[c].add(picture.row(static_cast<int64_t>(c), 0), picture.shape.plane());
      }
      widen(picture.shape.height, all.min_height, all.max_height);
      widen(picture.shape.width, all.min_width, all.max_width);
      ++all.samples;
    } catch (const Error& error) {
      all.unreadable.emplace_back(error.what());
    }
  }
  for (const Sums& sums : channels) {
    all.mean.push_back(sums.mean());
    all.std.push_back(sums.std());
  }
  return all;
}

}  // namespace trainyard::data
