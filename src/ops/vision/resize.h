// The sizes of a Resize node, shared by inference and kernels.
#pragma once

#include <optional>
#include <vector>

#include "ir/node_view.h"

namespace trainyard::ops {

struct ResizeSizes {
  Shape output;
  std::vector<double> scales;   // output over input, by dimension
  std::vector<double> lengths;  // input times scale, not yet rounded down to the output's size
};

// The dimensions that scales, sizes and roi speak of, in their order.
std::vector<int64_t> resize_axes(const NodeView& node);

// No value if scales, sizes or a region that matters are not known before the run.
std::optional<ResizeSizes> resize_sizes(const NodeView& node);

}  // namespace trainyard::ops
