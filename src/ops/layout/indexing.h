// Indices that come as data: what the gathering and scattering operators share.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "ir/node_view.h"

namespace trainyard::ops {

// An index in [-size, size) as one in [0, size); Error otherwise.
inline int64_t checked_index(int64_t index, int64_t size) {
  TY_REQUIRE(-size <= index && index < size, "index {} is outside {} entries", index, size);
  return index < 0 ? index + size : index;
}

// Error unless the elements are integers.
void require_indices(const TensorType& indices);

// Error unless input 2, the updates, has the type of the data and this shape.
void require_updates(const NodeView& node, const Shape& expected);

// Writes, adds or multiplies `count` elements of `from` into `to`, starting at the given elements.
using ScatterUpdate = void (*)(const TensorView& from, int64_t from_at, const TensorView& to,
                               int64_t to_at, int64_t count);

// By the attribute `reduction` of the node: none, add, mul, max or min.
ScatterUpdate scatter_update(const NodeView& node);

}  // namespace trainyard::ops
