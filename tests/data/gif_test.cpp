#include "data/gif.h"

#include <gtest/gtest.h>

#include "base/error.h"

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

}  // namespace
}  // namespace trainyard::data
