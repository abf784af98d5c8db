// Expand: the input stretched to a shape by broadcasting.
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/layout/shape_input.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

std::vector<TensorType> infer_expand(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  return {{x.dtype, broadcast_shapes(x.shape, shape_from_input(node, 1))}};
}

Routine routine_expand(const NodeView&) {
  return [](Views inputs, Views outputs) {
    const Shape& shape = *outputs[0].shape;
    // Known late, where the result was known without it.
    const std::vector<int64_t> dims = to_ints(inputs[1]);
    for (const int64_t d : dims) TY_REQUIRE(d >= 0, "the shape has a dimension of {}", d);
    TY_REQUIRE(broadcast_shapes(*inputs[0].shape, Shape(dims)) == shape,
               "a tensor of shape {} stretched to {} is not {}", inputs[0].shape->to_string(),
               Shape(dims).to_string(), shape.to_string());
    copy_strided(shape.dims(), dtype_size(inputs[0].dtype), inputs[0].data,
                 broadcast_strides(*inputs[0].shape, shape), outputs[0].data, shape.strides());
  };
}

std::vector<ValueId> gradient_expand(GradContext& grad) {
  return {grad.sum_to(grad.dy(), grad.x_shape(0)), kNoValue};
}

}  // namespace

// Inputs: x, shape.
extern const OpDef kExpand = {.name = "Expand",
                              .kind = OpKind::kDataMovement,
                              .inputs = {2, 2},
                              .infer = infer_expand,
                              .routine = routine_expand,
                              .gradient = gradient_expand,
                              .saves = SavedTensors::kNothing,
                              .movement = always_moved};

}  // namespace trainyard::ops
