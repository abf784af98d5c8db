// GIF: the first picture of a file; what is transparent or not covered lies on white.
#include <algorithm>
#include <array>
#include <vector>

#include "data/byte_reader.h"
#include "data/image_codecs.h"

namespace trainyard::data {
namespace {

using Colors = std::vector<std::array<uint8_t, 3>>;

Colors read_colors(ByteReader& reader, uint32_t flags) {
  Colors colors;
  if ((flags & 0x80U) == 0) return colors;
  colors.resize(size_t{2} << (flags & 7U));
  for (auto& color : colors) {
    for (uint8_t& part : color) part = static_cast<uint8_t>(reader.number(1));
  }
  return colors;
}

// Blocks of up to 255 bytes, until an empty one.
std::string read_blocks(ByteReader& reader) {
  std::string bytes;
  while (const uint32_t size = reader.number(1)) bytes += reader.take(size);
  return bytes;
}

// LZW with codes of growing width. An entry is its last byte behind another entry.
class GifCodes {
 public:
  GifCodes(std::string_view bytes, uint32_t root_bits) : bytes_(bytes), roots_(1U << root_bits) {
    start();
  }

  // At most `most` places; fewer if the data end before.
  std::vector<uint8_t> decode(size_t most) {
    std::vector<uint8_t> places;
    while (places.size() < most) {
      const uint32_t code = next_code();
      if (code == roots_ + 1) break;
      if (code == roots_) {
        start();
        continue;
      }
      if (!append(code, places)) break;
    }
    places.resize(std::min(places.size(), most));
    return places;
  }

 private:
  static constexpr uint32_t kMostCodes = 4096;
  static constexpr uint32_t kNoCode = kMostCodes;

  void start() {
    count_ = roots_ + 2;
    width_ = 1;
    while ((1U << width_) < count_) ++width_;
    before_ = kNoCode;
  }

  uint32_t next_code() {
    uint32_t code = 0;
    for (uint32_t k = 0; k < width_; ++k, ++bit_) {
      if (bit_ / 8 >= bytes_.size()) return roots_ + 1;
      const auto byte = static_cast<uint8_t>(bytes_[bit_ / 8]);
      code |= (byte >> (bit_ % 8) & 1U) << k;
    }
    return code;
  }

  // False for a code that there cannot be.
  bool append(uint32_t code, std::vector<uint8_t>& places) {
    const bool fresh = code == count_ && before_ != kNoCode;
    if (code >= count_ && !fresh) return false;
    const size_t begin = places.size();
    for (uint32_t c = fresh ? before_ : code;; c = entries_[c].before) {
      places.push_back(c < roots_ ? static_cast<uint8_t>(c) : entries_[c].last);
      if (c < roots_) break;
    }
    std::reverse(places.begin() + static_cast<ptrdiff_t>(begin), places.end());
    const uint8_t first = places[begin];
    if (fresh) places.push_back(first);
    if (before_ != kNoCode && count_ < kMostCodes) {
      entries_[count_++] = {before_, first};
      if (count_ == (1U << width_) && count_ < kMostCodes) ++width_;
    }
    before_ = code;
    return true;
  }

  struct Entry {
    uint32_t before = 0;
    uint8_t last = 0;
  };
  std::string_view bytes_;
  uint32_t roots_;
  uint32_t count_ = 0;
  uint32_t width_ = 0;
  uint32_t before_ = kNoCode;
  size_t bit_ = 0;
  std::array<Entry, kMostCodes> entries_{};
};

struct GifFrame {
  int64_t left = 0;
  int64_t top = 0;
  int64_t width = 0;
  int64_t height = 0;
  bool interlaced = false;
  Colors colors;
};

// The rows of an interlaced picture come in four passes.
std::vector<int64_t> rows_in_order(const GifFrame& frame) {
  std::vector<int64_t> rows;
  constexpr int64_t kPasses[][2] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
  for (const auto& [first, step] : kPasses) {
    if (!frame.interlaced) break;
    for (int64_t y = first; y < frame.height; y += step) rows.push_back(y);
  }
  for (int64_t y = 0; !frame.interlaced && y < frame.height; ++y) rows.push_back(y);
  return rows;
}

void draw_frame(const GifFrame& frame, const std::vector<uint8_t>& places, uint32_t transparent,
                Image& image) {
  const std::vector<int64_t> rows = rows_in_order(frame);
  for (size_t i = 0; i < places.size(); ++i) {
    const int64_t y = frame.top + rows[i / static_cast<size_t>(frame.width)];
    const int64_t x = frame.left + static_cast<int64_t>(i) % frame.width;
    const bool shown = places[i] != transparent && places[i] < frame.colors.size();
    if (!shown) continue;
    const auto& color = frame.colors[places[i]];
    std::copy(color.begin(), color.end(), image.pixels.begin() + (y * image.width + x) * kColors);
  }
}

}  // namespace

Image decode_gif(std::string_view bytes, std::string_view origin) {
  constexpr uint32_t kExtension = 0x21;
  constexpr uint32_t kControl = 0xf9;
  constexpr uint32_t kPicture = 0x2c;
  ByteReader reader(bytes, origin);
  reader.take(6);
  Image image{.height = 0, .width = reader.number(2), .pixels = {}};
  image.height = reader.number(2);
  const uint32_t flags = reader.number(1);
  reader.take(2);
  TY_REQUIRE(image.height > 0 && image.width > 0 && image.height * image.width <= kMostPixels,
             "{}: a GIF of {} x {}", origin, image.height, image.width);
  const Colors common = read_colors(reader, flags);
  uint32_t transparent = 256;
  uint32_t kind = reader.number(1);
  for (; kind == kExtension; kind = reader.number(1)) {
    const uint32_t label = reader.number(1);
    const std::string block = read_blocks(reader);
    if (label == kControl && block.size() == 4 && (block[0] & 1) != 0) {
      transparent = static_cast<uint8_t>(block[3]);
    }
  }
  TY_REQUIRE(kind == kPicture, "{}: the GIF has no picture", origin);
  GifFrame frame{.left = reader.number(2), .top = reader.number(2), .colors = {}};
  frame.width = reader.number(2);
  frame.height = reader.number(2);
  const uint32_t own = reader.number(1);
  frame.interlaced = (own & 0x40U) != 0;
  frame.colors = read_colors(reader, own);
  if (frame.colors.empty()) frame.colors = common;
  const uint32_t root_bits = reader.number(1);
  // Inside the file's size, which is what callers bound before they decode.
  TY_REQUIRE(frame.width > 0 && frame.height > 0 && frame.left + frame.width <= image.width &&
                 frame.top + frame.height <= image.height && root_bits >= 1 && root_bits <= 8,
             "{}: the GIF is {} x {}, its first picture {} x {} at {}, {} in {} bits", origin,
             image.height, image.width, frame.height, frame.width, frame.top, frame.left,
             root_bits);
  const std::string data = read_blocks(reader);
  image.pixels.assign(static_cast<size_t>(image.height * image.width * kColors), 255);
  GifCodes codes(data, root_bits);
  const std::vector<uint8_t> places = codes.decode(static_cast<size_t>(frame.width * frame.height));
  TY_REQUIRE(!places.empty(), "{}: the GIF's first picture is empty", origin);
  draw_frame(frame, places, transparent, image);
  return image;
}

PictureSize gif_size(std::string_view bytes) {
  if (bytes.size() < 10) return {};
  ByteReader reader(bytes, "");
  reader.take(6);
  const int64_t width = reader.number(2);
  return {reader.number(2), width};
}

}  // namespace trainyard::data
