// Where: x where the condition holds, y elsewhere, with broadcasting.
#include <cstring>

#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"
#include "tensor/walk.h"

namespace trainyard::ops {
namespace {

std::vector<TensorType> infer_where(const NodeView& node) {
  const TensorType& condition = node.input_type(0);
  const TensorType& x = node.input_type(1);
  const TensorType& y = node.input_type(2);
  TY_REQUIRE(condition.dtype == DType::kBool, "the condition is {}, expected bool",
             dtype_name(condition.dtype));
  TY_REQUIRE(x.dtype == y.dtype, "the choices are {} and {}", dtype_name(x.dtype),
             dtype_name(y.dtype));
  return {{x.dtype, broadcast_shapes(condition.shape, broadcast_shapes(x.shape, y.shape))}};
}

Cost cost_where(const NodeView& node) {
  return elementwise_cost(node, 1);
}

Routine routine_where(const NodeView&) {
  return [](Views inputs, Views outputs) {
    const Shape& shape = *outputs[0].shape;
    const int64_t size = dtype_size(outputs[0].dtype);
    const std::array strides = {broadcast_strides(*inputs[0].shape, shape),
                                broadcast_strides(*inputs[1].shape, shape),
                                broadcast_strides(*inputs[2].shape, shape), shape.strides()};
    walk(shape, strides, [&](const Offsets<4>& at) {
      const size_t chosen = inputs[0].as<const bool>()[at[0]] ? 1 : 2;
      std::memcpy(outputs[0].as<std::byte>() + at[3] * size,
                  inputs[chosen].as<const std::byte>() + at[chosen] * size,
                  static_cast<size_t>(size));
    });
  };
}

std::vector<ValueId> gradient_where(GradContext& grad) {
  std::vector<ValueId> dx(3, kNoValue);
  const ValueId zero = grad.scalar(0);
  if (grad.wants(1)) {
    dx[1] = grad.sum_to(grad.add("Where", {grad.x(0), grad.dy(), zero}), grad.x_shape(1));
  }
  if (grad.wants(2)) {
    dx[2] = grad.sum_to(grad.add("Where", {grad.x(0), zero, grad.dy()}), grad.x_shape(2));
  }
  return dx;
}

}  // namespace

extern const OpDef kWhere = {.name = "Where",
                             .kind = OpKind::kElementwise,
                             .inputs = {3, 3},
                             .infer = infer_where,
                             .cost = cost_where,
                             .routine = routine_where,
                             .gradient = gradient_where};

}  // namespace trainyard::ops
