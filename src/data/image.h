// Pictures: decoding, resizing, cropping and the normalization that networks expect.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/pixels.h"
#include "tensor/tensor.h"

namespace trainyard::data {

inline constexpr int64_t kColors = 3;

// Rows of interleaved red, green and blue bytes.
struct Image {
  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> pixels;
};

// JPEG, PNG, BMP or the first picture of a GIF, told apart by their first bytes; gray is spread
// over three channels, what is transparent lies on white. Throws Error naming the file.
Image read_image(const std::filesystem::path& path);
struct PictureSize {
  int64_t height = 0;
  int64_t width = 0;
  bool operator==(const PictureSize&) const = default;
};
// Without decoding; zeros where the file is no picture that can be read.
PictureSize picture_size(std::string_view bytes);

// The same for bytes in memory; `origin` names them in errors.
Image decode_image(std::string_view bytes, std::string_view origin);
// A PNG file.
std::string encode_png(const Image& image);

// Red, green and blue apart, as networks want them.
void to_planes(const Image& image, Pixels& out);
// And back; of one channel all three are made.
Image to_image(const PixelView& picture);

// Bilinear, with pixel centers aligned; when shrinking, each pixel averages what it covers, unless
// `plain` (see resample()).
Image resize(const Image& image, int64_t height, int64_t width, bool plain = false);
// The middle; the image must be at least that large.
Image center_crop(const Image& image, int64_t height, int64_t width);

struct Preprocessing {
  int64_t resize_shorter = 0;  // 0: 256/224 of the crop
  bool whole = false;          // resized to height and width instead, nothing cut off
  float mean[3] = {0.485F, 0.456F, 0.406F};
  float std[3] = {0.229F, 0.224F, 0.225F};
};

// f32[1, channels, height, width] of (value / 255 - mean) / std: the shorter side resized, the
// middle cut out. channels is 3, or 1 for the gray of the picture.
Tensor preprocess(const Image& image, int64_t channels, int64_t height, int64_t width,
                  const Preprocessing& options);

}  // namespace trainyard::data
