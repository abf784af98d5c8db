// BMP: Windows bitmaps without compression, of 1, 4, 8, 24 or 32 bits.
#include <algorithm>
#include <array>

#include "data/byte_reader.h"
#include "data/image_codecs.h"

namespace trainyard::data {
namespace {

constexpr size_t kFileHeader = 14;
constexpr uint32_t kInfoHeader = 40;

struct BmpHeader {
  size_t data = 0;       // where the rows begin
  size_t colors_at = 0;  // of the palette
  int64_t height = 0;
  int64_t width = 0;
  bool downwards = false;  // the first row is the top one
  uint32_t bits = 0;
  uint32_t compression = 0;
  uint32_t colors = 0;
};

BmpHeader read_bmp_header(std::string_view bytes, std::string_view origin) {
  ByteReader reader(bytes, origin);
  reader.take(10);
  BmpHeader header;
  header.data = reader.number(4);
  const uint32_t size = reader.number(4);
  TY_REQUIRE(size >= kInfoHeader, "{}: a bitmap of OS/2 (header of {} bytes) is not read", origin,
             size);
  header.width = static_cast<int32_t>(reader.number(4));
  const auto height = static_cast<int32_t>(reader.number(4));
  header.downwards = height < 0;
  header.height = header.downwards ? -int64_t{height} : height;
  reader.take(2);
  header.bits = reader.number(2);
  header.compression = reader.number(4);
  reader.take(12);
  header.colors = reader.number(4);
  header.colors_at = kFileHeader + size;
  TY_REQUIRE(header.width > 0 && header.height > 0, "{}: a picture of {} x {}", origin,
             header.height, header.width);
  return header;
}

using ColorTable = std::array<std::array<uint8_t, 3>, 256>;

ColorTable read_palette(const BmpHeader& header, std::string_view bytes, std::string_view origin) {
  ColorTable palette{};
  const uint32_t most = 1U << header.bits;
  const uint32_t count = header.colors == 0 ? most : header.colors;
  TY_REQUIRE(count <= most, "{}: {} colors in {} bits", origin, count, header.bits);
  ByteReader reader(bytes, origin);
  reader.go_to(header.colors_at);
  for (uint32_t i = 0; i < count; ++i) {
    const std::string_view color = reader.take(4);  // blue, green, red, nothing
    palette[i] = {static_cast<uint8_t>(color[2]), static_cast<uint8_t>(color[1]),
                  static_cast<uint8_t>(color[0])};
  }
  return palette;
}

}  // namespace

Image decode_bmp(std::string_view bytes, std::string_view origin) {
  constexpr uint32_t kNone = 0;
  constexpr uint32_t kMasks = 3;
  const BmpHeader header = read_bmp_header(bytes, origin);
  TY_REQUIRE(header.height * header.width <= kMostPixels, "{}: a picture of {} x {} is too large",
             origin, header.height, header.width);
  const uint32_t bits = header.bits;
  // Masks of 32 bits are nearly always blue, green, red, alpha, as without masks.
  const bool plain = header.compression == kNone || (header.compression == kMasks && bits == 32);
  TY_REQUIRE(plain && (bits == 1 || bits == 4 || bits == 8 || bits == 24 || bits == 32),
             "{}: a bitmap of {} bits with compression {} is not read; convert it to PNG", origin,
             bits, header.compression);
  const ColorTable palette = bits <= 8 ? read_palette(header, bytes, origin) : ColorTable{};
  const auto row_bytes = static_cast<size_t>((header.width * bits + 31) / 32 * 4);
  Image image{.height = header.height, .width = header.width, .pixels = {}};
  ByteReader reader(bytes, origin);
  reader.go_to(header.data);
  // Before memory is taken: a short file may promise any size.
  const std::string_view rows = reader.take(row_bytes * static_cast<size_t>(header.height));
  image.pixels.resize(static_cast<size_t>(header.height * header.width * kColors));
  for (int64_t y = 0; y < header.height; ++y) {
    const auto* row = reinterpret_cast<const uint8_t*>(rows.data()) +
                      static_cast<size_t>(header.downwards ? y : header.height - 1 - y) * row_bytes;
    uint8_t* to = image.pixels.data() + y * header.width * kColors;
    for (int64_t x = 0; x < header.width; ++x, to += kColors) {
      if (bits >= 24) {
        const uint8_t* pixel = row + x * (bits / 8);
        to[0] = pixel[2];
        to[1] = pixel[1];
        to[2] = pixel[0];
      } else {
        const auto bit = static_cast<uint32_t>(x) * bits;
        const uint32_t place = row[bit / 8] >> (8 - bits - bit % 8) & ((1U << bits) - 1);
        std::copy(palette[place].begin(), palette[place].end(), to);
      }
    }
  }
  return image;
}

PictureSize bmp_size(std::string_view bytes) {
  try {
    const BmpHeader header = read_bmp_header(bytes, "");
    return {header.height, header.width};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace trainyard::data
