#include "data/image_grid.h"

#include <algorithm>

#include "base/error.h"
#include "data/image_codecs.h"

namespace trainyard::data {
namespace {

constexpr int64_t kGap = 2;
constexpr int64_t kSmallestSide = 56;  // smaller pictures are enlarged
constexpr int64_t kCell = 96;          // where sizes differ
constexpr uint8_t kPaper = 255;

// Shrunk to the cell, ratio kept, or enlarged by a whole factor.
Image fit(Image image, int64_t height, int64_t width) {
  const double shrink =
      std::min({1.0, static_cast<double>(height) / static_cast<double>(image.height),
                static_cast<double>(width) / static_cast<double>(image.width)});
  if (shrink < 1) {
    const auto side = [shrink](int64_t from) {
      return std::max<int64_t>(1, static_cast<int64_t>(shrink * static_cast<double>(from)));
    };
    return resize(image, side(image.height), side(image.width));
  }
  const int64_t factor = std::min(height / image.height, width / image.width);
  if (factor == 1) return image;
  Image large{.height = image.height * factor, .width = image.width * factor, .pixels = {}};
  for (int64_t y = 0; y < large.height; ++y) {
    for (int64_t x = 0; x < large.width; ++x) {
      const auto from = image.pixels.begin() + 3 * (y / factor * image.width + x / factor);
      large.pixels.insert(large.pixels.end(), from, from + 3);
    }
  }
  return large;
}

}  // namespace

ImageGrid::ImageGrid(int64_t rows, int64_t columns, const PictureShape& shape)
    : cell_height_(kCell), cell_width_(kCell) {
  if (shape.is_fixed()) {
    const int64_t side = std::min(shape.height, shape.width);
    const int64_t factor = std::max<int64_t>(1, (kSmallestSide + side - 1) / side);
    cell_height_ = factor * shape.height;
    cell_width_ = factor * shape.width;
  }
  image_.height = kGap + rows * (cell_height_ + kGap);
  image_.width = kGap + columns * (cell_width_ + kGap);
  TY_REQUIRE(image_.height <= kMostPixels / image_.width,
             "a sheet of {} x {} pictures of {} x {} is too large; ask for fewer", rows, columns,
             cell_height_, cell_width_);
  image_.pixels.assign(static_cast<size_t>(3 * image_.height * image_.width), kPaper);
}

void ImageGrid::place(int64_t row, int64_t column, const PixelView& picture) {
  const Image small = fit(to_image(picture), cell_height_, cell_width_);
  const int64_t top = kGap + row * (cell_height_ + kGap) + (cell_height_ - small.height) / 2;
  const int64_t left = kGap + column * (cell_width_ + kGap) + (cell_width_ - small.width) / 2;
  for (int64_t y = 0; y < small.height; ++y) {
    const auto from = small.pixels.begin() + 3 * y * small.width;
    std::copy(from, from + 3 * small.width,
              image_.pixels.begin() + 3 * ((top + y) * image_.width + left));
  }
}

}  // namespace trainyard::data
