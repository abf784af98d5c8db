// Which boxes NonMaxSuppression keeps; inference needs to know as soon as the data is known.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ir/node_view.h"

namespace trainyard::ops {

struct SuppressionRules {
  int64_t most_per_class = 0;
  double overlap = 0;  // intersection over union above which the lower score goes
  double score = 0;    // only higher scores count, if has_score
  bool has_score = false;
  bool centers = false;  // boxes are x, y, width, height instead of two corners
};

// Of doubles, so that boxes of any size compare alike.
struct BoxCorners {
  double x1, y1, x2, y2;

  double area() const { return (x2 - x1) * (y2 - y1); }
};

// The four numbers of a box: y1, x1, y2, x2 with the two corners in any order, or x, y, width,
// height.
BoxCorners box_corners(const float* box, bool centers);

// Whether two boxes share more than `share` of their joint area.
bool boxes_overlap(const BoxCorners& a, const BoxCorners& b, double share);

// The rules of a node whose inputs are all known.
SuppressionRules suppression_rules(const NodeView& node);

// {batch, class, box} of each box kept: by batch, then class, then falling score. `boxes` is
// f32[batch, n, 4], `scores` f32[batch, classes, n].
std::vector<std::array<int64_t, 3>> select_boxes(const TensorView& boxes, const TensorView& scores,
                                                 const SuppressionRules& rules);

}  // namespace trainyard::ops
