// Numbers in the small languages of data sets ("synthetic:3x32x32,classes=10") and augmentations
// ("cutout:16x1").
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/pixels.h"

namespace trainyard::data {

// A whole number in [least, most]. Errors begin with `what`.
int64_t parse_whole(std::string_view text, int64_t least, int64_t most, std::string_view what);
// A finite number in [least, most].
double parse_real(std::string_view text, double least, double most, std::string_view what);
// Numbers in [least, most] separated by '/'.
std::vector<double> parse_reals(std::string_view text, double least, double most,
                                std::string_view what);

inline constexpr int64_t kLargestSide = 1 << 16;

struct Size {
  int64_t height = 0;
  int64_t width = 0;
};
// "HxW", or "S" for a square.
Size parse_size(std::string_view text, std::string_view what);

}  // namespace trainyard::data
