#include "data/boxes/box_statistics.h"

#include <algorithm>

namespace trainyard::data {
namespace {

constexpr float kSmallArea = 32 * 32;
constexpr float kLargeArea = 96 * 96;

double median_of(std::vector<float>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

struct Sides {
  std::vector<float> widths;
  std::vector<float> heights;
  std::vector<float> aspects;
  int64_t last_picture = -1;
};

}  // namespace

BoxStatistics measure_boxes(const Dataset& dataset) {
  BoxStatistics all;
  all.classes.resize(static_cast<size_t>(dataset.num_classes()));
  std::vector<Sides> sides(all.classes.size());
  Target target;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    dataset.target(i, target);
    const auto count = static_cast<int64_t>(target.boxes.size());
    all.boxes += count;
    all.empty_pictures += count == 0 ? 1 : 0;
    all.least_in_picture = i == 0 ? count : std::min(all.least_in_picture, count);
    all.most_in_picture = std::max(all.most_in_picture, count);
    for (const Box& box : target.boxes) {
      const auto label = static_cast<size_t>(box.label);
      ClassBoxes& own = all.classes[label];
      Sides& seen = sides[label];
      ++own.boxes;
      own.difficult += box.difficult ? 1 : 0;
      if (seen.last_picture != i) ++own.pictures;
      seen.last_picture = i;
      seen.widths.push_back(box.width());
      seen.heights.push_back(box.height());
      seen.aspects.push_back(box.width() / box.height());
      const float area = box.width() * box.height();
      all.small += area < kSmallArea ? 1 : 0;
      all.large += area >= kLargeArea ? 1 : 0;
    }
  }
  for (size_t c = 0; c < sides.size(); ++c) {
    all.classes[c].median_width = median_of(sides[c].widths);
    all.classes[c].median_height = median_of(sides[c].heights);
    all.classes[c].median_aspect = median_of(sides[c].aspects);
  }
  return all;
}

}  // namespace trainyard::data
