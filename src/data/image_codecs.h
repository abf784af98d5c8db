// The two picture formats, each behind its own library.
#pragma once

#include <string_view>

#include "data/image.h"

namespace trainyard::data {

// Pictures of more than this many pixels are refused: a small file may ask for any amount of
// memory.
inline constexpr int64_t kMostPixels = int64_t{1} << 27;

// Both throw Error beginning with `origin`.
Image decode_jpeg(std::string_view bytes, std::string_view origin);
Image decode_png(std::string_view bytes, std::string_view origin);

// What the header says; zeros where it cannot be read.
PictureSize jpeg_size(std::string_view bytes);
PictureSize png_size(std::string_view bytes);

}  // namespace trainyard::data
