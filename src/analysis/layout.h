// Where the boxes of a drawn graph stand: in rows, data flowing down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace trainyard::analysis {

struct Place {
  double x = 0;     // in widths of a box; 0 is the middle
  int64_t row = 0;  // from 0 on
};

// Boxes in the order of the data, and edges from a box to a later one. A box stands one row below
// the lowest of those it comes from, and near their middle. Time grows with boxes and edges.
std::vector<Place> place_boxes(size_t boxes, const std::vector<std::pair<size_t, size_t>>& edges);

}  // namespace trainyard::analysis
