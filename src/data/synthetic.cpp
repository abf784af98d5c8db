// Made-up pictures that can be learned: a smooth picture per class under noise.
#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/random.h"
#include "data/readers.h"

namespace trainyard::data {
namespace {

constexpr int64_t kGrid = 4;       // a class is drawn from this many random values along a side
constexpr int64_t kTestShare = 5;  // the test split has one sample for this many
constexpr int kMiddle = 128;
constexpr int kSignal = 40;  // largest distance of a class from gray
constexpr uint64_t kClassStream = 1;
constexpr uint64_t kLabelStream = 2;
constexpr uint64_t kNoiseStream = 3;

// The classes' pictures around zero: bilinear between the random values of a coarse grid.
std::vector<int8_t> class_pictures(const SyntheticOptions& options) {
  const RandomStream random(options.seed, kClassStream);
  const auto& [channels, height, width] = options.shape;
  std::vector<int8_t> pictures(static_cast<size_t>(options.classes * options.shape.elements()));
  const auto position = [](int64_t i, int64_t size) {
    return size == 1 ? 0.0 : static_cast<double>(i * (kGrid - 1)) / static_cast<double>(size - 1);
  };
  size_t at = 0;
  for (int64_t plane = 0; plane < options.classes * channels; ++plane) {
    const auto value = [&](int64_t row, int64_t column) {
      return 2 * random.uniform(static_cast<uint64_t>((plane * kGrid + row) * kGrid + column)) - 1;
    };
    for (int64_t y = 0; y < height; ++y) {
      const double v = position(y, height);
      const int64_t row = std::min<int64_t>(static_cast<int64_t>(v), kGrid - 2);
      const double dy = v - static_cast<double>(row);
      for (int64_t x = 0; x < width; ++x) {
        const double u = position(x, width);
        const int64_t column = std::min<int64_t>(static_cast<int64_t>(u), kGrid - 2);
        const double dx = u - static_cast<double>(column);
        const double above = value(row, column) * (1 - dx) + value(row, column + 1) * dx;
        const double below = value(row + 1, column) * (1 - dx) + value(row + 1, column + 1) * dx;
        pictures[at++] = static_cast<int8_t>(kSignal * (above * (1 - dy) + below * dy));
      }
    }
  }
  return pictures;
}

class Synthetic final : public Dataset {
 public:
  Synthetic(DatasetInfo info, const SyntheticOptions& options, Split split)
      : Dataset(std::move(info)),
        size_(split == Split::kTrain ? options.size
                                     : std::max<int64_t>(1, options.size / kTestShare)),
        first_(split == Split::kTrain ? 0 : options.size),
        labels_(options.seed, kLabelStream),
        noise_(options.seed, kNoiseStream),
        pictures_(class_pictures(options)) {}

  int64_t size() const override { return size_; }
  int64_t label(int64_t index) const override {
    return static_cast<int64_t>(
        labels_.below(static_cast<uint64_t>(first_ + index), static_cast<uint64_t>(num_classes())));
  }
  PixelView pixels(int64_t index, Pixels& room) const override {
    room.reshape(shape());
    const int64_t elements = shape().elements();
    const int8_t* picture = pictures_.data() + label(index) * elements;
    const RandomStream noise(noise_.bits(static_cast<uint64_t>(first_ + index)));
    // Eight bytes of noise from one draw, uniform over +-127: about three times the signal.
    for (int64_t at = 0; at < elements; at += 8) {
      const uint64_t bits = noise.bits(static_cast<uint64_t>(at));
      for (int64_t i = 0; i < std::min<int64_t>(8, elements - at); ++i) {
        const auto random = static_cast<int>((bits >> (8 * i)) & 0xff) - kMiddle;
        const int value = kMiddle + picture[at + i] + random;
        room.bytes[static_cast<size_t>(at + i)] = static_cast<uint8_t>(std::clamp(value, 0, 255));
      }
    }
    return room.view();
  }

 private:
  int64_t size_;
  int64_t first_;  // the splits draw from different parts of the streams
  RandomStream labels_;
  RandomStream noise_;
  std::vector<int8_t> pictures_;
};

}  // namespace

std::unique_ptr<Dataset> make_synthetic(const SyntheticOptions& options, Split split) {
  DatasetInfo info{.shape = options.shape,
                   .class_names = numbered_classes(options.classes),
                   .source = fmt::format("synthetic pictures from seed {}, {} split", options.seed,
                                         split_name(split))};
  return std::make_unique<Synthetic>(std::move(info), options, split);
}

}  // namespace trainyard::data
