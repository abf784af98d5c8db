// Pictures as networks want them: planes of bytes, channel by channel (channels x height x width).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/core.h>

namespace trainyard::data {

struct PictureShape {
  int64_t channels = 0;
  int64_t height = 0;  // 0, like the width: differs from picture to picture
  int64_t width = 0;

  bool is_fixed() const { return height > 0 && width > 0; }
  int64_t plane() const { return height * width; }
  int64_t elements() const { return channels * plane(); }
  // "3x32x32"; "3x?x?" where the size differs.
  std::string to_string() const {
    return is_fixed() ? fmt::format("{}x{}x{}", channels, height, width)
                      : fmt::format("{}x?x?", channels);
  }
  bool operator==(const PictureShape&) const = default;
};

// Somebody else's bytes.
struct PixelView {
  PictureShape shape;
  const uint8_t* data = nullptr;

  const uint8_t* row(int64_t channel, int64_t y) const {
    return data + channel * shape.plane() + y * shape.width;
  }
};

// Own bytes. The memory is kept from picture to picture.
struct Pixels {
  PictureShape shape;
  std::vector<uint8_t> bytes;

  // The bytes are not cleared.
  void reshape(const PictureShape& to) {
    shape = to;
    bytes.resize(static_cast<size_t>(to.elements()));
  }
  uint8_t* row(int64_t channel, int64_t y) {
    return bytes.data() + channel * shape.plane() + y * shape.width;
  }
  PixelView view() const { return {shape, bytes.data()}; }
};

}  // namespace trainyard::data
