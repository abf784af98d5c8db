// What the boxes of a data set are like.
#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace trainyard::data {

struct ClassBoxes {
  int64_t boxes = 0;
  int64_t difficult = 0;
  int64_t pictures = 0;  // with at least one
  // Of the boxes, in pixels: half are smaller. Zeros where there is none.
  double median_width = 0;
  double median_height = 0;
  double median_aspect = 0;  // width / height
};

struct BoxStatistics {
  std::vector<ClassBoxes> classes;
  int64_t boxes = 0;
  int64_t least_in_picture = 0;
  int64_t most_in_picture = 0;
  int64_t empty_pictures = 0;
  int64_t small = 0;  // below 32 x 32 pixels
  int64_t large = 0;  // 96 x 96 and more; the others are medium
};

// Looks at every target and at no picture.
BoxStatistics measure_boxes(const Dataset& dataset);

}  // namespace trainyard::data
