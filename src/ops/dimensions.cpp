#include "ops/dimensions.h"

#include <algorithm>

#include "base/error.h"

namespace trainyard::ops {

int64_t dim_product(int64_t a, int64_t b) {
  if (a == Shape::kUnknown || b == Shape::kUnknown) return Shape::kUnknown;
  int64_t product = 0;
  TY_REQUIRE(!__builtin_mul_overflow(a, b, &product), "a dimension would be {} x {}", a, b);
  return product;
}

int64_t dim_sum(int64_t a, int64_t b) {
  if (a == Shape::kUnknown || b == Shape::kUnknown) return Shape::kUnknown;
  int64_t sum = 0;
  TY_REQUIRE(!__builtin_add_overflow(a, b, &sum), "a dimension would be {} + {}", a, b);
  return sum;
}

void require_dims(std::string_view what, const Shape& found,
                  std::initializer_list<int64_t> wanted) {
  const auto dims = found.dims();
  TY_REQUIRE(std::equal(dims.begin(), dims.end(), wanted.begin(), wanted.end(), same_dim),
             "{} of shape {}, expected {}", what, found.to_string(), Shape(wanted).to_string());
}

void require_floats(const NodeView& node, std::initializer_list<size_t> inputs) {
  const DType dtype = node.input_type(0).dtype;
  TY_REQUIRE(is_float(dtype), "it is not defined for elements of type {}", dtype_name(dtype));
  require_alike(node, inputs);
}

void require_one_number(const NodeView& node, size_t i, std::string_view what) {
  if (!node.has_input(i)) return;
  const int64_t count = node.input_shape(i).num_elements();
  TY_REQUIRE(same_dim(count, 1), "{} has shape {}, expected one number", what,
             node.input_shape(i).to_string());
}

void require_alike(const NodeView& node, std::initializer_list<size_t> inputs) {
  const DType dtype = node.input_type(0).dtype;
  for (const size_t i : inputs) {
    TY_REQUIRE(!node.has_input(i) || node.input_type(i).dtype == dtype,
               "input {} is {}, expected {} as input 0", i, dtype_name(node.input_type(i).dtype),
               dtype_name(dtype));
  }
}

}  // namespace trainyard::ops
