#include "data/gif.h"

#include <array>
#include <map>
#include <vector>

#include "base/error.h"

namespace trainyard::data {
namespace {

constexpr int kMostColors = 256;
constexpr int kCube = 6;
constexpr int kMostCodes = 4096;
constexpr int kSubBlock = 255;

using Rgb = std::array<uint8_t, 3>;

Rgb pixel_at(const Image& image, size_t i) {
  return {image.pixels[3 * i], image.pixels[3 * i + 1], image.pixels[3 * i + 2]};
}

// All colors if there are up to 256, otherwise a cube of 6 x 6 x 6.
class Palette {
 public:
  explicit Palette(std::span<const Image> pictures) {
    for (const Image& picture : pictures) {
      for (size_t i = 0; 3 * i < picture.pixels.size(); ++i) {
        places_.try_emplace(pixel_at(picture, i), static_cast<int>(places_.size()));
        // One too many: the pictures so far have been looked at for nothing, and others need not
        // be.
        if (places_.size() > kMostColors) {
          make_cube();
          return;
        }
      }
    }
    colors_.resize(kMostColors);
    for (const auto& [color, place] : places_) colors_[static_cast<size_t>(place)] = color;
  }

  const std::vector<Rgb>& colors() const { return colors_; }
  uint8_t place(Rgb color) const {
    if (!cube_) return static_cast<uint8_t>(places_.at(color));
    int place = 0;
    // To the nearest level of the cube.
    for (const uint8_t part : color) place = place * kCube + (part * (kCube - 1) + 127) / 255;
    return static_cast<uint8_t>(place);
  }

 private:
  void make_cube() {
    cube_ = true;
    colors_.assign(kMostColors, {});
    for (int i = 0; i < kCube * kCube * kCube; ++i) {
      const auto level = [](int part) { return static_cast<uint8_t>(part * 255 / (kCube - 1)); };
      colors_[static_cast<size_t>(i)] = {level(i / kCube / kCube), level(i / kCube % kCube),
                                         level(i % kCube)};
    }
  }

  bool cube_ = false;
  std::map<Rgb, int> places_;
  std::vector<Rgb> colors_;
};

void append_u16(std::string& to, int value) {
  to += static_cast<char>(value & 255);
  to += static_cast<char>(value >> 8 & 255);
}

// Codes of growing width, packed from the low bits up.
class CodeWriter {
 public:
  void put(int code, int width) {
    bits_ |= static_cast<uint32_t>(code) << count_;
    count_ += width;
    while (count_ >= 8) {
      bytes_ += static_cast<char>(bits_ & 255);
      bits_ >>= 8;
      count_ -= 8;
    }
  }
  // In blocks, each with its length in front.
  std::string blocks() {
    if (count_ > 0) bytes_ += static_cast<char>(bits_ & 255);
    std::string all;
    for (size_t at = 0; at < bytes_.size(); at += kSubBlock) {
      const std::string part = bytes_.substr(at, kSubBlock);
      all += static_cast<char>(part.size());
      all += part;
    }
    return all + '\0';
  }

 private:
  uint32_t bits_ = 0;
  int count_ = 0;
  std::string bytes_;
};

// LZW with codes from 9 bits: 256 clears the table, 257 ends.
// GIF's variant (GIF89a, appendix F). Must have at least one place.
std::string compressed(const std::vector<uint8_t>& places) {
  constexpr int kClear = 256;
  constexpr int kEnd = 257;
  CodeWriter writer;
  std::map<std::pair<int, uint8_t>, int> longer;
  int next = kEnd + 1;
  int width = 9;
  writer.put(kClear, width);
  int prefix = places[0];
  for (size_t i = 1; i < places.size(); ++i) {
    const auto found = longer.find({prefix, places[i]});
    if (found != longer.end()) {
      prefix = found->second;
      continue;
    }
    writer.put(prefix, width);
    if (next == kMostCodes) {
      writer.put(kClear, width);
      longer.clear();
      next = kEnd + 1;
      width = 9;
    } else {
      // The decoder adds an entry one code later, so the width grows only now.
      if (next == 1 << width) ++width;
      longer[{prefix, places[i]}] = next++;
    }
    prefix = places[i];
  }
  writer.put(prefix, width);
  writer.put(kEnd, width);
  return writer.blocks();
}

// Graphic control extension with the delay, then the image descriptor: the whole canvas, the global
// palette, codes of 8 bits.
std::string picture_block(const Image& picture, const Palette& palette, int hundredths) {
  std::string block("\x21\xF9\x04\x00", 4);
  append_u16(block, hundredths);
  block += std::string("\0\0\x2C", 3);
  append_u16(block, 0);
  append_u16(block, 0);
  append_u16(block, static_cast<int>(picture.width));
  append_u16(block, static_cast<int>(picture.height));
  block += std::string("\0\x08", 2);
  std::vector<uint8_t> places(picture.pixels.size() / 3);
  for (size_t i = 0; i < places.size(); ++i) places[i] = palette.place(pixel_at(picture, i));
  return block + compressed(places);
}

}  // namespace

std::string encode_gif(std::span<const Image> pictures, int hundredths) {
  TY_REQUIRE(!pictures.empty(), "a moving picture needs at least one picture");
  const Image& first = pictures[0];
  TY_REQUIRE(first.width > 0 && first.height > 0 && first.width < 65536 && first.height < 65536,
             "a GIF of {}x{} is not possible", first.height, first.width);
  for (const Image& picture : pictures) {
    TY_REQUIRE(picture.height == first.height && picture.width == first.width,
               "a picture of {}x{} among those of {}x{}", picture.height, picture.width,
               first.height, first.width);
  }
  const Palette palette(pictures);
  std::string file = "GIF89a";
  append_u16(file, static_cast<int>(first.width));
  append_u16(file, static_cast<int>(first.height));
  // A global table of 256 colors.
  file += std::string("\xF7\0\0", 3);
  for (const Rgb& color : palette.colors()) {
    for (const uint8_t part : color) file += static_cast<char>(part);
  }
  // The application extension that makes viewers repeat it for ever.
  file += std::string("\x21\xFF\x0BNETSCAPE2.0\x03\x01\0\0\0", 19);
  for (const Image& picture : pictures) file += picture_block(picture, palette, hundredths);
  return file + '\x3B';
}

}  // namespace trainyard::data
