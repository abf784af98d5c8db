// Views: Reshape, Flatten and Identity keep the elements and their order.
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kReshapeAttributes[] = {{"allowzero", AttrKind::kInt}};
constexpr AttrSpec kFlattenAttributes[] = {{"axis", AttrKind::kInt}};

std::vector<TensorType> infer_reshape(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  TY_REQUIRE(!is_float(node.input_type(1).dtype), "the new shape is {}, expected whole numbers",
             node.input_type(1).to_string());
  auto target = node.input_ints(1);
  // What is empty is known: a scalar has no dimension that could be open.
  if (node.input_shape(1).num_elements() == 0) target.emplace();
  if (!target.has_value()) {
    TY_REQUIRE(node.input_shape(1).is_static(), "the rank of the new shape is not known");
    return {{x.dtype, unknown_shape(node.input_shape(1).num_elements())}};
  }
  std::vector<int64_t> dims = *target;
  const bool keep_zero = node.attr_int("allowzero", 0) != 0;
  int64_t known = 1;
  int64_t open = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !keep_zero) {
      TY_REQUIRE(static_cast<int64_t>(i) < x.shape.rank(), "dimension {} is copied from shape {}",
                 i, x.shape.to_string());
      dims[i] = x.shape[static_cast<int64_t>(i)];
    } else if (dims[i] == -1) {
      TY_REQUIRE(open < 0, "two dimensions of the new shape are -1");
      open = static_cast<int64_t>(i);
      continue;
    }
    TY_REQUIRE(dims[i] >= Shape::kUnknown, "dimension {} of the new shape is {}", i, dims[i]);
    if (dims[i] == Shape::kUnknown) known = Shape::kUnknown;
    if (known != Shape::kUnknown) {
      TY_REQUIRE(!__builtin_mul_overflow(known, dims[i], &known), "the new shape overflows");
    }
  }
  const int64_t count = x.shape.num_elements();
  if (count == Shape::kUnknown || known == Shape::kUnknown)
    return {{x.dtype, Shape(std::move(dims))}};
  if (open >= 0 && known > 0 && count % known == 0) {
    dims[static_cast<size_t>(open)] = count / known;
    known = count;
  }
  TY_REQUIRE(known == count, "{} elements of shape {} do not fit into shape {}", count,
             x.shape.to_string(), Shape(*target).to_string());
  return {{x.dtype, Shape(std::move(dims))}};
}

std::vector<TensorType> infer_flatten(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  int64_t axis = node.attr_int("axis", 1);
  TY_REQUIRE(-x.shape.rank() <= axis && axis <= x.shape.rank(), "axis {} is outside rank {}", axis,
             x.shape.rank());
  if (axis < 0) axis += x.shape.rank();
  return {
      {x.dtype, Shape{x.shape.num_elements(0, axis), x.shape.num_elements(axis, x.shape.rank())}}};
}

std::vector<TensorType> infer_identity(const NodeView& node) {
  return {node.input_type(0)};
}

Routine routine_reshape(const NodeView&) {
  return copy_elements;
}

// Nothing moves.
Cost cost_reshape(const NodeView&) {
  return {};
}

std::vector<ValueId> gradient_reshape(GradContext& grad) {
  return {grad.reshape(grad.dy(), grad.x_shape(0)), kNoValue};
}

}  // namespace

extern const OpDef kReshape = {.name = "Reshape",
                               .kind = OpKind::kDataMovement,
                               .inputs = {2, 2},
                               .attributes = kReshapeAttributes,
                               .infer = infer_reshape,
                               .cost = cost_reshape,
                               .routine = routine_reshape,
                               .gradient = gradient_reshape,
                               .saves = SavedTensors::kNothing,
                               .movement = always_view,
                               .int8 = Int8Form::kMove};
extern const OpDef kFlatten = {.name = "Flatten",
                               .kind = OpKind::kDataMovement,
                               .attributes = kFlattenAttributes,
                               .infer = infer_flatten,
                               .cost = cost_reshape,
                               .routine = routine_reshape,
                               .gradient = gradient_reshape,
                               .saves = SavedTensors::kNothing,
                               .movement = always_view,
                               .int8 = Int8Form::kMove};
extern const OpDef kIdentity = {.name = "Identity",
                                .kind = OpKind::kDataMovement,
                                .infer = infer_identity,
                                .cost = cost_reshape,
                                .routine = routine_reshape,
                                .gradient = gradient_reshape,
                                .saves = SavedTensors::kNothing,
                                .movement = always_view};

}  // namespace trainyard::ops
