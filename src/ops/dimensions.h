// Dimensions that inference compares and computes: an unknown one fits every other and stays
// unknown.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "ir/node_view.h"

namespace trainyard::ops {

inline bool same_dim(int64_t a, int64_t b) {
  return a == b || a == Shape::kUnknown || b == Shape::kUnknown;
}

// Error where the result is more than a tensor may have.
int64_t dim_product(int64_t a, int64_t b);
int64_t dim_sum(int64_t a, int64_t b);

// Error unless `found` has these dimensions; `what` is what has them.
void require_dims(std::string_view what, const Shape& found, std::initializer_list<int64_t> wanted);

// Error unless those of these inputs that are present have elements of the type of input 0.
void require_alike(const NodeView& node, std::initializer_list<size_t> inputs);
// Error unless input `i`, if it is present, is one number.
void require_one_number(const NodeView& node, size_t i, std::string_view what);

// Error unless the elements are floating-point numbers, and those of the other inputs that are
// present are of the same type as those of input 0.
void require_floats(const NodeView& node, std::initializer_list<size_t> inputs);

}  // namespace trainyard::ops
