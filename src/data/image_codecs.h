// The picture formats: JPEG and PNG behind their libraries, BMP and GIF read here.
#pragma once

#include <string_view>

#include "data/image.h"

namespace trainyard::data {

// Pictures of more than this many pixels are refused: a small file may ask for any amount of
// memory.
inline constexpr int64_t kMostPixels = int64_t{1} << 27;

// All throw Error beginning with `origin`.
Image decode_jpeg(std::string_view bytes, std::string_view origin);
Image decode_png(std::string_view bytes, std::string_view origin);
Image decode_bmp(std::string_view bytes, std::string_view origin);
Image decode_gif(std::string_view bytes, std::string_view origin);

// What the header says; zeros where it cannot be read.
PictureSize jpeg_size(std::string_view bytes);
PictureSize png_size(std::string_view bytes);
PictureSize bmp_size(std::string_view bytes);
PictureSize gif_size(std::string_view bytes);

}  // namespace trainyard::data
