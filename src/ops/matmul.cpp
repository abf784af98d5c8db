// MatMul: matrix products over broadcast batch dimensions, as numpy.matmul.
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr ParamRole kRoles[] = {ParamRole::kWeight, ParamRole::kWeight};

// A vector is a one-row matrix on the left and a one-column matrix on the right.
Shape as_matrix(const Shape& shape, bool left) {
  if (shape.rank() >= 2) return shape;
  return left ? Shape{1, shape[0]} : Shape{shape[0], 1};
}

std::vector<TensorType> infer(const NodeView& node) {
  const Shape& a = node.input_shape(0);
  const Shape& b = node.input_shape(1);
  TY_REQUIRE(a.rank() >= 1 && b.rank() >= 1,
             "operands have shapes {} and {}; scalars do not multiply", a.to_string(),
             b.to_string());
  TY_REQUIRE(node.input_type(0).dtype == node.input_type(1).dtype, "operands are {} and {}",
             dtype_name(node.input_type(0).dtype), dtype_name(node.input_type(1).dtype));
  const Shape left = as_matrix(a, true);
  const Shape right = as_matrix(b, false);
  TY_REQUIRE(left.dim(-1) == right.dim(-2) || left.dim(-1) == Shape::kUnknown ||
                 right.dim(-2) == Shape::kUnknown,
             "inner sizes of {} and {} differ", a.to_string(), b.to_string());
  const Shape batch =
      broadcast_shapes(Shape(left.dims().first(static_cast<size_t>(left.rank() - 2))),
                       Shape(right.dims().first(static_cast<size_t>(right.rank() - 2))));
  std::vector<int64_t> dims = batch.vector();
  if (a.rank() >= 2) dims.push_back(left.dim(-2));
  if (b.rank() >= 2) dims.push_back(right.dim(-1));
  return {{node.input_type(0).dtype, Shape(std::move(dims))}};
}

Cost cost(const NodeView& node) {
  Cost cost = traffic(node);
  cost.macs = node.output_shape(0).num_elements() * node.input_shape(0).dim(-1);
  cost.flops = 2 * cost.macs;
  return cost;
}

}  // namespace

extern const OpDef kMatMul = {.name = "MatMul",
                              .kind = OpKind::kLinear,
                              .inputs = {2, 2},
                              .roles = kRoles,
                              .infer = infer,
                              .cost = cost};

}  // namespace trainyard::ops
