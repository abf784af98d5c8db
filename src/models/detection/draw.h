// Boxes and labels on pictures.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "data/image.h"
#include "models/detection/priors.h"

namespace trainyard::detect {

struct Mark {
  Region region;  // in pixels
  std::string label;
  int64_t color = 0;  // of classes: any number, the same class the same color
  bool dashed = false;
};

// Rectangles first, then labels, so that none is crossed out. Lines and type grow with the picture.
// What lies outside is cut off; characters other than printable ASCII become '?'.
void draw_marks(data::Image& image, std::span<const Mark> marks);

}  // namespace trainyard::detect
