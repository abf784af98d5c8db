// Shapes that come as an input.
#pragma once

#include "ir/node_view.h"

namespace trainyard::ops {

// The shape that the integers of input `i` spell, each dimension unknown if they are not known
// before the run. Error for negative dimensions, and if not even the rank is known.
Shape shape_from_input(const NodeView& node, size_t i);

}  // namespace trainyard::ops
