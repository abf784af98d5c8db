// Resizing of bytes, behind pictures in rows of pixels and in planes alike.
#pragma once

#include <cstdint>

namespace trainyard::data {

// A rectangle of pixels, `channels` bytes each, whose rows are `stride` bytes apart; and maybe
// several such planes, `plane_stride` bytes apart.
struct PixelRows {
  const uint8_t* data = nullptr;
  int64_t height = 0;
  int64_t width = 0;
  int64_t stride = 0;
  int64_t channels = 1;
  int64_t planes = 1;
  int64_t plane_stride = 0;
};

// Bilinear, with pixel centers aligned; when shrinking, each pixel averages what it covers, unless
// `plain`: then it is made of its four neighbors alone, as OpenCV's and TensorFlow's are. The
// result is packed. Memory is kept per thread, so that repeated calls allocate nothing.
void resample(const PixelRows& from, int64_t height, int64_t width, uint8_t* to,
              bool plain = false);

}  // namespace trainyard::data
