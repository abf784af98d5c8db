// Many small pictures on one.
#pragma once

#include <cstdint>

#include "data/image.h"
#include "data/pixels.h"

namespace trainyard::data {

// A grid of cells on white. Throws Error if it would be too large for a picture.
class ImageGrid {
 public:
  // Cells are made for pictures of `shape`, enlarged by a whole factor if they are small; where
  // sizes differ, pictures are shrunk to the cell.
  ImageGrid(int64_t rows, int64_t columns, const PictureShape& shape);

  // One or three channels (of others, the first is shown as gray).
  void place(int64_t row, int64_t column, const PixelView& picture);
  const Image& image() const { return image_; }

 private:
  int64_t cell_height_;
  int64_t cell_width_;
  Image image_;
};

}  // namespace trainyard::data
