// Concat: inputs joined along `axis`.
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kConcatAttributes[] = {{"axis", AttrKind::kInt, true}};

std::vector<TensorType> infer_concat(const NodeView& node) {
  TensorType y = node.input_type(0);
  const int64_t axis = normalize_axis(node.attr_int("axis", 0), y.shape.rank(), "Concat");
  for (size_t i = 1; i < node.num_inputs(); ++i) {
    const TensorType& x = node.input_type(i);
    TY_REQUIRE(x.dtype == y.dtype, "input {} is {}, input 0 is {}", i, dtype_name(x.dtype),
               dtype_name(y.dtype));
    bool fits = x.shape.rank() == y.shape.rank();
    for (int64_t d = 0; fits && d < x.shape.rank(); ++d)
      fits = d == axis || x.shape[d] == y.shape[d];
    TY_REQUIRE(fits, "input {} has shape {}, which does not join shape {} along axis {}", i,
               x.shape.to_string(), node.input_shape(0).to_string(), axis);
    const bool unknown = x.shape[axis] == Shape::kUnknown || y.shape[axis] == Shape::kUnknown;
    y.shape[axis] = unknown ? Shape::kUnknown : y.shape[axis] + x.shape[axis];
  }
  return {y};
}

Routine routine_concat(const NodeView& node) {
  const int64_t axis =
      normalize_axis(node.attr_int("axis", 0), node.input_shape(0).rank(), "Concat");
  return [axis](Views inputs, Views outputs) {
    const TensorView& y = outputs[0];
    const int64_t size = dtype_size(y.dtype);
    const std::vector<int64_t> strides = y.shape->strides();
    auto* to = y.as<std::byte>();
    for (const TensorView& x : inputs) {
      copy_strided(x.shape->dims(), size, x.data, x.shape->strides(), to, strides);
      to += (*x.shape)[axis] * strides[static_cast<size_t>(axis)] * size;
    }
  };
}

// Each input gets its slice of dy.
std::vector<ValueId> gradient_concat(GradContext& grad) {
  const int64_t axis =
      normalize_axis(grad.node().attr_int("axis", 0), grad.x_shape(0).rank(), "Concat");
  std::vector<ValueId> dx(grad.node().num_inputs(), kNoValue);
  int64_t begin = 0;
  for (size_t i = 0; i < dx.size(); ++i) {
    const int64_t end = begin + grad.x_shape(i)[axis];
    if (grad.wants(i)) {
      dx[i] = grad.add("Slice", {grad.dy(), grad.ints({&begin, 1}), grad.ints({&end, 1}),
                                 grad.ints({&axis, 1})});
    }
    begin = end;
  }
  return dx;
}

Movement movement_concat(const NodeView& /*node*/) {
  return Movement::kJoined;
}

Reaches reach_concat(const NodeView& node, size_t dims) {
  if (is_spatial(node, node.attr_int("axis", 0), node.output_shape(0), dims)) return std::nullopt;
  return same_position(node, dims);
}

}  // namespace

extern const OpDef kConcat = {.name = "Concat",
                              .kind = OpKind::kDataMovement,
                              .inputs = {1, Arity::kMany},
                              .attributes = kConcatAttributes,
                              .infer = infer_concat,
                              .routine = routine_concat,
                              .reach = reach_concat,
                              .gradient = gradient_concat,
                              .saves = SavedTensors::kNothing,
                              .movement = movement_concat,
                              .int8 = Int8Form::kMove,
                              .passes = MemoryPasses{2, 2, 2}};

}  // namespace trainyard::ops
