// The resolved ranges of a Slice node, shared by inference and kernels.
#pragma once

#include <optional>
#include <vector>

#include "ir/node_view.h"

namespace trainyard::ops {

// One entry per dimension of the input.
struct SliceRanges {
  std::vector<int64_t> starts;
  std::vector<int64_t> steps;
  std::vector<int64_t> counts;
};

// ONNX semantics: negative positions count from the end, everything is clamped to the dimension.
SliceRanges slice_ranges(const Shape& x, const std::vector<int64_t>& starts,
                         const std::vector<int64_t>& ends, const std::vector<int64_t>& axes,
                         const std::vector<int64_t>& steps);

// The ranges that inputs 1 to 4 of `node` (starts, ends, axes, steps) describe in a tensor of shape
// x; no value if they are not known before the run.
std::optional<SliceRanges> slice_ranges(const NodeView& node, const Shape& x);

}  // namespace trainyard::ops
