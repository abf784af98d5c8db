// Tile: the input, repeated along each dimension.
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

std::vector<TensorType> infer_tile(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const auto repeats = node.input_ints(1);
  TY_REQUIRE(is_integer(node.input_type(1).dtype) &&
                 same_dim(node.input_shape(1).num_elements(), x.shape.rank()),
             "repeats are {}, expected {} integers", node.input_type(1).to_string(),
             x.shape.rank());
  TensorType y = x;
  for (int64_t d = 0; d < x.shape.rank(); ++d) {
    if (!repeats || x.shape[d] == Shape::kUnknown) {
      y.shape[d] = Shape::kUnknown;
      continue;
    }
    const int64_t times = (*repeats)[static_cast<size_t>(d)];
    TY_REQUIRE(times >= 0 && !__builtin_mul_overflow(x.shape[d], times, &y.shape[d]),
               "dimension {} of shape {} cannot be repeated {} times", d, x.shape.to_string(),
               times);
  }
  return {y};
}

// A view of rank 2n: each dimension of the output is (repeat, element).
Routine routine_tile(const NodeView&) {
  return [](Views inputs, Views outputs) {
    const Shape& x = *inputs[0].shape;
    const Shape& y = *outputs[0].shape;
    if (y.num_elements() == 0) return;
    const std::vector<int64_t> from = x.strides();
    const std::vector<int64_t> to = y.strides();
    std::vector<int64_t> dims;
    std::vector<int64_t> from_strides;
    std::vector<int64_t> to_strides;
    for (int64_t d = 0; d < x.rank(); ++d) {
      const auto at = static_cast<size_t>(d);
      dims.insert(dims.end(), {y[d] / x[d], x[d]});
      from_strides.insert(from_strides.end(), {0, from[at]});
      to_strides.insert(to_strides.end(), {to[at] * x[d], to[at]});
    }
    copy_strided(dims, dtype_size(inputs[0].dtype), inputs[0].data, from_strides, outputs[0].data,
                 to_strides);
  };
}

// Each dimension of dy is (repeat, element); the repeats are summed.
std::vector<ValueId> gradient_tile(GradContext& grad) {
  const Shape x = grad.x_shape(0);
  const Shape y = grad.node().output_shape(0);
  std::vector<int64_t> dims;
  std::vector<int64_t> repeats;
  for (int64_t d = 0; d < x.rank(); ++d) {
    dims.insert(dims.end(), {x[d] == 0 ? 0 : y[d] / x[d], x[d]});
    repeats.push_back(2 * d);
  }
  const ValueId parts = grad.reshape(grad.dy(), Shape(std::move(dims)));
  return {grad.add("ReduceSum", {parts, grad.ints(repeats)}, {{"keepdims", int64_t{0}}}), kNoValue};
}

}  // namespace

// Inputs: x, repeats.
extern const OpDef kTile = {.name = "Tile",
                            .kind = OpKind::kDataMovement,
                            .inputs = {2, 2},
                            .infer = infer_tile,
                            .routine = routine_tile,
                            .gradient = gradient_tile,
                            .movement = always_moved};

}  // namespace trainyard::ops
