#include "models/detection/annotate.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "models/detection/draw.h"

namespace trainyard::detect {

std::string label_of(int64_t label, std::span<const std::string> labels) {
  const auto index = static_cast<size_t>(label);
  return label >= 0 && index < labels.size() ? labels[index] : fmt::format("class {}", label);
}

void draw_objects(data::Image& image, std::span<const FoundObject> objects,
                  std::span<const std::string> labels) {
  std::vector<Mark> marks;
  for (const FoundObject& object : objects) {
    marks.push_back(
        {.region = object.region,
         .label = fmt::format("{} {:.2f}", label_of(object.label, labels), object.score),
         .color = object.label});
  }
  std::reverse(marks.begin(), marks.end());
  draw_marks(image, marks);
}

void shrink_with_objects(data::Image& image, std::span<FoundObject> objects, int64_t side) {
  const int64_t longer = std::max(image.height, image.width);
  if (longer <= side) return;
  const auto shrunk = [&](int64_t length) {
    return std::max<int64_t>(1, (length * side + longer / 2) / longer);
  };
  const int64_t height = shrunk(image.height);
  const int64_t width = shrunk(image.width);
  const double across = static_cast<double>(width) / static_cast<double>(image.width);
  const double down = static_cast<double>(height) / static_cast<double>(image.height);
  image = data::resize(image, height, width);
  for (FoundObject& object : objects) {
    Region& region = object.region;
    region = {region.left * across, region.top * down, region.right * across, region.bottom * down};
  }
}

}  // namespace trainyard::detect
