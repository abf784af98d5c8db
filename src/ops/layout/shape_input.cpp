#include "ops/layout/shape_input.h"

#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {

Shape shape_from_input(const NodeView& node, size_t i) {
  const auto dims = node.input_ints(i);
  if (!dims) {
    const Shape& vector = node.input_shape(i);
    TY_REQUIRE(vector.rank() == 1 && vector.is_static(), "the rank of the shape is not known");
    TY_REQUIRE(is_integer(node.input_type(i).dtype), "the shape is {}, expected integers",
               dtype_name(node.input_type(i).dtype));
    return unknown_shape(vector[0]);
  }
  for (const int64_t d : *dims) TY_REQUIRE(d >= 0, "the shape has a dimension of {}", d);
  return Shape(*dims);
}

}  // namespace trainyard::ops
