#include "models/detection/annotate.h"

#include <gtest/gtest.h>

namespace trainyard::detect {
namespace {

data::Image gray_image(int64_t height, int64_t width) {
  return {.height = height,
          .width = width,
          .pixels = std::vector<uint8_t>(static_cast<size_t>(height * width * 3), 90)};
}

TEST(Annotate, ObjectsShrinkWithTheirPicture) {
  data::Image image = gray_image(300, 1000);
  std::vector<FoundObject> objects = {{.label = 0, .score = 1, .region = {100, 30, 500, 270}}};
  shrink_with_objects(image, objects, 200);
  EXPECT_EQ(image.height, 60);
  EXPECT_EQ(image.width, 200);
  EXPECT_EQ(image.pixels.size(), 60U * 200 * 3);
  EXPECT_DOUBLE_EQ(objects[0].region.left, 20);
  EXPECT_DOUBLE_EQ(objects[0].region.top, 6);
  EXPECT_DOUBLE_EQ(objects[0].region.right, 100);
  EXPECT_DOUBLE_EQ(objects[0].region.bottom, 54);
}

TEST(Annotate, SmallPicturesStay) {
  data::Image image = gray_image(200, 20);
  std::vector<FoundObject> objects = {{.label = 0, .score = 1, .region = {1, 2, 3, 4}}};
  shrink_with_objects(image, objects, 200);
  EXPECT_EQ(image.height, 200);
  EXPECT_EQ(image.width, 20);
  EXPECT_DOUBLE_EQ(objects[0].region.bottom, 4);
}

// However thin, a picture keeps a pixel.
TEST(Annotate, ThinPicturesKeepAPixel) {
  data::Image image = gray_image(1, 5000);
  shrink_with_objects(image, {}, 100);
  EXPECT_EQ(image.height, 1);
  EXPECT_EQ(image.width, 100);
}

}  // namespace
}  // namespace trainyard::detect
