#include "ops/layout/shape_input.h"

#include "base/error.h"

namespace trainyard::ops {

Shape shape_from_input(const NodeView& node, size_t i) {
  const auto dims = node.input_ints(i);
  if (!dims) {
    const Shape& vector = node.input_shape(i);
    TY_REQUIRE(vector.rank() == 1 && vector.is_static(), "the rank of the shape is not known");
    return Shape(std::vector<int64_t>(static_cast<size_t>(vector[0]), Shape::kUnknown));
  }
  for (const int64_t d : *dims) TY_REQUIRE(d >= 0, "the shape has a dimension of {}", d);
  return Shape(*dims);
}

}  // namespace trainyard::ops
