#include "detect/annotate.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "detect/draw.h"

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

}  // namespace trainyard::detect
