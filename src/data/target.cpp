#include "data/target.h"

#include <algorithm>

namespace trainyard::data {

void move_boxes(std::vector<Box>& boxes, const BoxMove& move, const PictureShape& to) {
  const auto moved = [](float at, double origin, double scale, int64_t side) {
    const double there = (static_cast<double>(at) - origin) * scale;
    return static_cast<float>(std::clamp(there, 0.0, static_cast<double>(side)));
  };
  for (Box& box : boxes) {
    box.left = moved(box.left, move.left, move.scale_x, to.width);
    box.right = moved(box.right, move.left, move.scale_x, to.width);
    box.top = moved(box.top, move.top, move.scale_y, to.height);
    box.bottom = moved(box.bottom, move.top, move.scale_y, to.height);
  }
  std::erase_if(boxes, [](const Box& box) { return box.width() <= 0 || box.height() <= 0; });
}

}  // namespace trainyard::data
