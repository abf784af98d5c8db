// Resizing of bytes, behind pictures in rows of pixels and in planes alike.
#pragma once

#include <cstdint>

namespace trainyard::data {

// A piece of rows of pixels. A pixel is `channels` bytes; rows are `stride` bytes apart.
struct PixelRows {
  const uint8_t* data = nullptr;
  int64_t height = 0;
  int64_t width = 0;
  int64_t stride = 0;
};

// Bilinear, with pixel centres aligned; when shrinking, each pixel averages what it covers. The
// result is packed. Memory is kept per thread, so that repeated calls allocate nothing.
void resample(const PixelRows& from, int64_t channels, int64_t height, int64_t width, uint8_t* to);

}  // namespace trainyard::data
