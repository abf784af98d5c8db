// Squeeze drops dimensions of size 1, Unsqueeze inserts them; the elements stay where they are.
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

// Marks the axes that input 1 names, counted in a tensor of rank `rank`.
std::vector<bool> marked_axes(const std::vector<int64_t>& axes, int64_t rank, std::string_view op) {
  std::vector<bool> marked(static_cast<size_t>(rank), false);
  for (const int64_t axis : axes) {
    const auto at = static_cast<size_t>(normalize_axis(axis, rank, op));
    TY_REQUIRE(!marked[at], "axis {} is named twice", axis);
    marked[at] = true;
  }
  return marked;
}

TensorType of_unknown_dims(DType dtype, int64_t rank) {
  return {dtype, Shape(std::vector<int64_t>(static_cast<size_t>(rank), Shape::kUnknown))};
}

void require_integer_axes(const NodeView& node) {
  TY_REQUIRE(!node.has_input(1) || is_integer(node.input_type(1).dtype),
             "the axes are {}, expected integers", node.input_type(1).to_string());
}

int64_t number_of_axes(const NodeView& node) {
  const int64_t count = node.input_shape(1).num_elements();
  TY_REQUIRE(count != Shape::kUnknown, "the number of axes is not known");
  return count;
}

std::vector<TensorType> infer_squeeze(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const int64_t rank = x.shape.rank();
  require_integer_axes(node);
  const auto axes = node.input_ints(1);
  if (node.has_input(1) && !axes) {
    TY_REQUIRE(number_of_axes(node) <= rank, "{} axes of rank {} are dropped", number_of_axes(node),
               rank);
    // A scalar has no dimension that could be open.
    TY_REQUIRE(number_of_axes(node) < rank || same_dim(x.shape.num_elements(), 1),
               "a tensor of shape {} becomes a scalar", x.shape.to_string());
    return {of_unknown_dims(x.dtype, rank - number_of_axes(node))};
  }
  const std::vector<bool> named =
      marked_axes(axes.value_or(std::vector<int64_t>{}), rank, "Squeeze");
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < rank; ++d) {
    const bool dropped = axes ? named[static_cast<size_t>(d)] : x.shape[d] == 1;
    if (!dropped) {
      dims.push_back(x.shape[d]);
      continue;
    }
    TY_REQUIRE(x.shape[d] == 1 || x.shape[d] == Shape::kUnknown,
               "dimension {} of shape {} is not 1", d, x.shape.to_string());
  }
  return {{x.dtype, Shape(std::move(dims))}};
}

std::vector<TensorType> infer_unsqueeze(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  require_integer_axes(node);
  const auto axes = node.input_ints(1);
  const int64_t rank = x.shape.rank() + number_of_axes(node);
  if (!axes) return {of_unknown_dims(x.dtype, rank)};
  std::vector<int64_t> dims;
  int64_t next = 0;
  for (const bool inserted : marked_axes(*axes, rank, "Unsqueeze")) {
    dims.push_back(inserted ? 1 : x.shape[next++]);
  }
  return {{x.dtype, Shape(std::move(dims))}};
}

Routine routine_squeeze(const NodeView&) {
  return copy_elements;
}

// Nothing moves.
Cost cost_squeeze(const NodeView&) {
  return {};
}

std::vector<ValueId> gradient_squeeze(GradContext& grad) {
  return {grad.reshape(grad.dy(), grad.x_shape(0)), kNoValue};
}

}  // namespace

// Inputs: x, axes.
extern const OpDef kSqueeze = {.name = "Squeeze",
                               .kind = OpKind::kDataMovement,
                               .inputs = {1, 2},
                               .infer = infer_squeeze,
                               .cost = cost_squeeze,
                               .routine = routine_squeeze,
                               .gradient = gradient_squeeze,
                               .saves = SavedTensors::kNothing,
                               .movement = always_view,
                               .int8 = Int8Form::kMove};
extern const OpDef kUnsqueeze = {.name = "Unsqueeze",
                                 .kind = OpKind::kDataMovement,
                                 .inputs = {2, 2},
                                 .infer = infer_unsqueeze,
                                 .cost = cost_squeeze,
                                 .routine = routine_squeeze,
                                 .gradient = gradient_squeeze,
                                 .saves = SavedTensors::kNothing,
                                 .movement = always_view,
                                 .int8 = Int8Form::kMove};

}  // namespace trainyard::ops
