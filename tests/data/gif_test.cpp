#include "data/gif.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/image.h"

namespace trainyard::data {
namespace {

// Reads our files back: LZW with 8-bit roots, one table of colors.
std::vector<uint8_t> decode_places(const std::string& file, size_t& at) {
  std::string bytes;
  while (file[at] != 0) {
    const auto size = static_cast<size_t>(static_cast<uint8_t>(file[at]));
    bytes += file.substr(at + 1, size);
    at += size + 1;
  }
  ++at;
  std::vector<std::vector<uint8_t>> table;
  std::vector<uint8_t> all;
  int width = 9;
  std::vector<uint8_t> before;
  size_t bit = 0;
  while (true) {
    int code = 0;
    for (int k = 0; k < width; ++k, ++bit) {
      code |= (static_cast<uint8_t>(bytes.at(bit / 8)) >> (bit % 8) & 1) << k;
    }
    if (code == 257) return all;
    if (code == 256) {
      table.clear();
      width = 9;
      before.clear();
      continue;
    }
    std::vector<uint8_t> entry;
    if (code < 256) {
      entry = {static_cast<uint8_t>(code)};
    } else if (static_cast<size_t>(code - 258) < table.size()) {
      entry = table[static_cast<size_t>(code - 258)];
    } else {
      entry = before;
      entry.push_back(before.at(0));
    }
    all.insert(all.end(), entry.begin(), entry.end());
    if (!before.empty() && table.size() < 4096 - 258) {
      before.push_back(entry[0]);
      table.push_back(before);
      if (table.size() + 258 == static_cast<size_t>(1) << width && width < 12) ++width;
    }
    before = entry;
  }
}

TEST(Gif, APictureComesBackAsItWas) {
  Image noise{80, 100, {}};
  for (int i = 0; i < 80 * 100; ++i) {
    const auto level = static_cast<uint8_t>(i * 7919 % 251 / 4 * 4);
    noise.pixels.insert(noise.pixels.end(), {level, static_cast<uint8_t>(255 - level), 17});
  }
  const std::vector<Image> pictures = {noise, noise};
  const std::string file = encode_gif(pictures, 5);
  EXPECT_TRUE(file.starts_with("GIF89a"));
  EXPECT_EQ(file.back(), '\x3B');
  size_t at = 6 + 7 + 768 + 19;
  for (int picture = 0; picture < 2; ++picture) {
    at += 8 + 10 + 1;
    const std::vector<uint8_t> places = decode_places(file, at);
    ASSERT_EQ(places.size(), 8000U);
    for (size_t i = 0; i < places.size(); ++i) {
      for (size_t part = 0; part < 3; ++part) {
        ASSERT_EQ(static_cast<uint8_t>(file[13 + 3 * places[i] + part]),
                  noise.pixels[3 * i + part]);
      }
    }
  }
}

TEST(Gif, RefusesNothingAndOtherSizes) {
  EXPECT_THROW(encode_gif({}, 5), Error);
  const Image small{1, 1, {1, 2, 3}};
  const Image wide{1, 2, {1, 2, 3, 4, 5, 6}};
  const std::vector<Image> both = {small, wide};
  EXPECT_THROW(encode_gif(both, 5), Error);
}

// What we write we read: the first picture, of few and of many colors.
TEST(Gif, FirstPicturesAreRead) {
  for (const int64_t colors : {3, 120}) {
    std::vector<Image> pictures(2, Image{.height = 37, .width = 53, .pixels = {}});
    for (int64_t i = 0; i < 37 * 53; ++i) {
      const auto value = static_cast<uint8_t>(i * 7 % colors);
      pictures[0].pixels.insert(pictures[0].pixels.end(), {value, 20, 30});
      pictures[1].pixels.insert(pictures[1].pixels.end(), {0, 0, value});
    }
    const std::string file = encode_gif(pictures, 10);
    EXPECT_EQ(picture_size(file), (PictureSize{37, 53}));
    EXPECT_EQ(decode_image(file, "test").pixels, pictures[0].pixels);
    // Every shorter file is an error or a picture, never more than that.
    for (size_t size = 0; size < file.size() / 2; size += 11) {
      try {
        decode_image(std::string_view(file).substr(0, size), "cut");
      } catch (const Error&) {
      }
    }
  }
}

// A screen of 4 x 2 in two colors, and a picture of 2 x 2 on it.
std::string small_gif(char left) {
  std::string file("GIF89a\x04\0\x02\0\x80\0\0\0\0\0\xff\xff\xff,", 20);
  file += std::string({left, 0, 0, 0, 2, 0, 2, 0, 0, 2});
  // Clear, 0, 1, 1, 0, end: three bits each.
  file += std::string("\x03\x44\x02\x05\0;", 6);
  return file;
}

TEST(Gif, PicturesStayInsideTheScreen) {
  const Image image = decode_image(small_gif(1), "test");
  EXPECT_EQ(image.width, 4);
  EXPECT_EQ(image.pixels[0], 255) << "what is not covered is white";
  EXPECT_EQ(image.pixels[3], 0);
  EXPECT_THROW(decode_image(small_gif(3), "test"), Error);
}

}  // namespace
}  // namespace trainyard::data
