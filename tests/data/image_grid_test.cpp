#include "data/image_grid.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard::data {
namespace {

uint8_t red_at(const Image& image, int64_t y, int64_t x) {
  return image.pixels[static_cast<size_t>(3 * (y * image.width + x))];
}

TEST(ImageGrid, EnlargesSmallPicturesInTheirCells) {
  ImageGrid sheet(1, 2, {1, 28, 28});
  Pixels picture;
  picture.reshape({1, 28, 28});
  std::fill(picture.bytes.begin(), picture.bytes.end(), uint8_t{7});
  sheet.place(0, 1, picture.view());
  EXPECT_EQ(sheet.image().height, 60);
  EXPECT_EQ(sheet.image().width, 118);
  EXPECT_EQ(red_at(sheet.image(), 30, 30), 255);   // an empty cell
  EXPECT_EQ(red_at(sheet.image(), 2, 60), 7);      // its first pixel
  EXPECT_EQ(red_at(sheet.image(), 57, 115), 7);    // its last
  EXPECT_EQ(red_at(sheet.image(), 58, 115), 255);  // the gap
}

TEST(ImageGrid, ShrinksPicturesOfAnySize) {
  ImageGrid sheet(1, 1, {3, 0, 0});
  Pixels picture;
  picture.reshape({3, 300, 100});
  std::fill(picture.bytes.begin(), picture.bytes.end(), uint8_t{7});
  sheet.place(0, 0, picture.view());
  EXPECT_EQ(red_at(sheet.image(), 50, 50), 7);
  EXPECT_EQ(red_at(sheet.image(), 50, 10), 255);  // a third as wide as high
  EXPECT_THROW(ImageGrid(100000, 100000, {1, 28, 28}), Error);
}

}  // namespace
}  // namespace trainyard::data
