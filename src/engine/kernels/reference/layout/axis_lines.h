// A tensor as lines along one axis.
#pragma once

#include <cstdint>

#include "ir/node_view.h"
#include "tensor/shape.h"

namespace trainyard::kernels::reference {

struct AxisLines {
  int64_t count;   // lines
  int64_t length;  // elements of a line
  int64_t step;    // distance between neighbors of a line

  AxisLines(const Shape& shape, int64_t axis)
      : count(shape.num_elements(0, axis) * shape.num_elements(axis + 1, shape.rank())),
        length(shape[axis]),
        step(shape.num_elements(axis + 1, shape.rank())) {}

  // Index of the first element of a line.
  int64_t begin(int64_t line) const { return line / step * length * step + line % step; }
};

// The axis the attribute `axis` names, the last one by default.
inline int64_t axis_of(const NodeView& node) {
  return normalize_axis(node.attr_int("axis", -1), node.input_shape(0).rank(), node.op());
}

}  // namespace trainyard::kernels::reference
