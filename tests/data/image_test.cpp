#include "data/image.h"

#include <cstdio>

#include <gtest/gtest.h>
#include <jpeglib.h>
#include <zlib.h>

#include "base/error.h"
#include "data/compress.h"

namespace trainyard::data {
namespace {

Image gradient(int64_t height, int64_t width) {
  Image image{.height = height, .width = width, .pixels = {}};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      image.pixels.push_back(static_cast<uint8_t>(255 * y / height));
      image.pixels.push_back(static_cast<uint8_t>(255 * x / width));
      image.pixels.push_back(128);
    }
  }
  return image;
}

// `components` bytes of each pixel: 3, or 4 for inks.
std::string jpeg_of(const Image& image, int components = 3, bool progressive = false) {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's type
  jpeg_mem_dest(&info, &memory, &size);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.input_components = components;
  info.in_color_space = components == 4 ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  if (progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPLE*>(
        image.pixels.data() + info.next_scanline * static_cast<size_t>(image.width * components));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string bytes(reinterpret_cast<char*>(memory), size);
  std::free(memory);
  return bytes;
}

TEST(Image, PngComesBackExactly) {
  const Image image = gradient(7, 5);
  EXPECT_EQ(decode_image(encode_png(image), "x").pixels, image.pixels);
}

// A chunk of a PNG file: length, name, content, check.
std::string png_chunk(const std::string& name, const std::string& content) {
  const auto number = [](uint64_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
    return bytes;
  };
  const std::string checked = name + content;
  const auto* bytes = reinterpret_cast<const Bytef*>(checked.data());
  return number(content.size()) + checked +
         number(crc32(0, bytes, static_cast<uInt>(checked.size())));
}

// Two pixels beside each other; `row` begins with its filter.
std::string png_of_two(int depth, int color, const std::string& row,
                       const std::string& extra = "") {
  std::string header("\0\0\0\2\0\0\0\1", 8);
  header += static_cast<char>(depth);
  header += static_cast<char>(color);
  header += std::string(3, '\0');
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) + extra +
         png_chunk("IDAT", compress(row, Compression::kDeflate)) + png_chunk("IEND", "");
}

using PixelBytes = std::vector<uint8_t>;

TEST(Image, PngOf16Bits) {
  const std::string colors("\0\xff\xff\x80\x80\0\0\x12\x34\0\0\x40\0", 13);
  EXPECT_EQ(decode_image(png_of_two(16, 2, colors), "x").pixels,
            (PixelBytes{255, 128, 0, 18, 0, 64}));
  const std::string gray("\0\xff\xff\x12\x34", 5);
  EXPECT_EQ(decode_image(png_of_two(16, 0, gray), "x").pixels,
            (PixelBytes{255, 255, 255, 18, 18, 18}));
}

TEST(Image, PngWithAPalette) {
  const std::string palette = png_chunk("PLTE", std::string("\x0a\x14\x1e\xc8\x64\x32", 6));
  const PixelBytes second_then_first = {200, 100, 50, 10, 20, 30};
  const std::string bytes("\0\1\0", 3);
  EXPECT_EQ(decode_image(png_of_two(8, 3, bytes, palette), "x").pixels, second_then_first);
  const std::string bits("\0\x80", 2);
  EXPECT_EQ(decode_image(png_of_two(1, 3, bits, palette), "x").pixels, second_then_first);
  const std::string transparent = palette + png_chunk("tRNS", std::string("\xff\0", 2));
  EXPECT_EQ(decode_image(png_of_two(8, 3, bytes, transparent), "x").pixels,
            (PixelBytes{255, 255, 255, 10, 20, 30}));
  EXPECT_THROW(decode_image(png_of_two(8, 3, bytes), "x"), Error);  // without a palette
}

TEST(Image, JpegComesBackNearly) {
  const Image image = gradient(32, 24);
  const Image decoded = decode_image(jpeg_of(image), "x");
  ASSERT_EQ(decoded.pixels.size(), image.pixels.size());
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    EXPECT_NEAR(decoded.pixels[i], image.pixels[i], 12);  // chroma is stored at half resolution
  }
}

TEST(Image, DamagedFilesAreErrors) {
  const Image image = gradient(16, 16);
  EXPECT_THROW(decode_image("hello", "x"), Error);
  EXPECT_THROW(decode_image(encode_png(image).substr(0, 60), "x"), Error);
  const std::string jpeg = jpeg_of(image);
  EXPECT_THROW(decode_image(jpeg.substr(0, 20), "x"), Error);
  EXPECT_THROW(decode_image(jpeg.substr(0, jpeg.size() - 40), "x"), Error);  // pixels missing
}

TEST(Image, ResizingKeepsAGradient) {
  const Image small = resize(gradient(64, 64), 16, 16);
  for (int64_t x = 0; x < 16; ++x) {
    EXPECT_NEAR(small.pixels[static_cast<size_t>(x * 3 + 1)],
                255.0 * (4.0 * static_cast<double>(x) + 1.5) / 64.0, 3);
    EXPECT_EQ(small.pixels[static_cast<size_t>(x * 3 + 2)], 128);
  }
  EXPECT_EQ(resize(small, 16, 16).pixels, small.pixels);
}

TEST(Image, PreprocessingCutsAndNormalizes) {
  const Tensor tensor = preprocess(gradient(40, 60), 3, 32, 32, {});
  EXPECT_EQ(tensor.shape(), (Shape{1, 3, 32, 32}));
  // The constant blue channel: (128 / 255 - mean) / std.
  EXPECT_NEAR(tensor.values<float>()[2 * 32 * 32 + 5], (128.0 / 255 - 0.406) / 0.225, 1e-5);
  EXPECT_EQ(preprocess(gradient(40, 60), 1, 8, 8, {}).shape(), (Shape{1, 1, 8, 8}));
  EXPECT_THROW(preprocess(gradient(40, 60), 2, 8, 8, {}), Error);
}

TEST(Image, JpegsOfInksAndInPassesAreRead) {
  const Image original = gradient(16, 24);
  EXPECT_EQ(decode_image(jpeg_of(original, 3, true), "progressive").width, 24);
  // Libjpeg writes the inks of Adobe's programs: 255 is no ink.
  Image inks{.height = 8, .width = 8, .pixels = {}};
  for (int i = 0; i < 64; ++i) inks.pixels.insert(inks.pixels.end(), {255, 0, 255, 255});
  const Image seen = decode_image(jpeg_of(inks, 4), "cmyk");
  EXPECT_NEAR(seen.pixels[0], 255, 3);
  EXPECT_NEAR(seen.pixels[1], 0, 3);
  EXPECT_NEAR(seen.pixels[2], 255, 3);
}

TEST(Image, SizesAreReadFromHeaders) {
  const Image image = gradient(5, 9);
  const PictureSize size{5, 9};
  EXPECT_EQ(picture_size(encode_png(image)), size);
  EXPECT_EQ(picture_size(jpeg_of(image)), size);
  for (const char* text : {"", "text", "\x89PNG", "\xff\xd8\xff"}) {
    EXPECT_EQ(picture_size(text), PictureSize{}) << text;
  }
}

// Two rows of three pixels, from the lowest up, as most programs write them.
std::string small_bmp(char bits, const std::string& palette, const std::string& rows) {
  const auto number = [](uint32_t value) {
    std::string text;
    for (unsigned i = 0; i < 4; ++i) text += static_cast<char>(value >> (8 * i) & 0xffU);
    return text;
  };
  std::string file = "BM" + number(0) + number(0);
  file += number(static_cast<uint32_t>(54 + palette.size()));
  file += number(40) + number(3) + number(2) + std::string({1, 0, bits, 0}) + number(0);
  file += number(0) + number(0) + number(0);
  file += number(static_cast<uint32_t>(palette.size() / 4)) + number(0);
  return file + palette + rows;
}

TEST(Bmp, ColorsAndPalettesAreRead) {
  const std::string colors = small_bmp(24, "", {1,  2,  3,  4,  5,  6,  7,  8,  9,  0, 0, 0,  //
                                                11, 12, 13, 14, 15, 16, 17, 18, 19, 0, 0, 0});
  EXPECT_EQ(picture_size(colors), (PictureSize{2, 3}));
  EXPECT_EQ(decode_image(colors, "test").pixels,
            (std::vector<uint8_t>{13, 12, 11, 16, 15, 14, 19, 18, 17, 3, 2, 1, 6, 5, 4, 9, 8, 7}));
  const std::string palette({1, 2, 3, 0, 4, 5, 6, 0});
  const std::string bits = small_bmp(1, palette, {'\x40', 0, 0, 0, '\xa0', 0, 0, 0});
  EXPECT_EQ(decode_image(bits, "test").pixels,
            (std::vector<uint8_t>{6, 5, 4, 3, 2, 1, 6, 5, 4, 3, 2, 1, 6, 5, 4, 3, 2, 1}));
  for (size_t size = 0; size < colors.size(); ++size) {
    EXPECT_THROW(decode_image(std::string_view(colors).substr(0, size), "cut"), Error);
  }
}

}  // namespace
}  // namespace trainyard::data
