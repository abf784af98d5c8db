// From bytes to the floats a network sees.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/pixels.h"

namespace trainyard::data {

// Per channel, of values in [0, 1]: y = (byte / 255 - mean) / std.
struct Normalization {
  std::vector<float> mean;
  std::vector<float> std;

  // "0.4914/0.4822/0.4465:0.247/0.2435/0.2616"
  static Normalization parse(std::string_view text, std::string_view what);
  std::string to_string() const;
  // Of three colors, for pictures that become gray: mixed as the colors are. The deviation is
  // exact where the colors vary together, as in gray pictures that are stored in color.
  Normalization gray() const;
};

// Mean and standard deviation of the pixels, rounded to four digits, of at most some thousand
// evenly spaced samples where pictures must be decoded, else of all. A channel that never changes
// gets std 1.
Normalization measure_normalization(const Dataset& dataset);

// `normalization` may be null: the range [0, 1].
class FloatConverter {
 public:
  FloatConverter(int64_t channels, const Normalization* normalization);
  // `out` has room for as many floats as there are bytes.
  void convert(const PixelView& in, float* out) const;

 private:
  std::vector<float> scale_;
  std::vector<float> offset_;
};

}  // namespace trainyard::data
