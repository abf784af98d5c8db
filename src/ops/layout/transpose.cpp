// Transpose: dimensions in another order; without `perm`, reversed.
#include <numeric>

#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kTransposeAttributes[] = {{"perm", AttrKind::kInts}};

std::vector<int64_t> permutation(const NodeView& node) {
  const int64_t rank = node.input_shape(0).rank();
  std::vector<int64_t> reversed(static_cast<size_t>(rank));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  std::vector<int64_t> perm = node.attr_ints("perm", reversed);
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  bool valid = static_cast<int64_t>(perm.size()) == rank;
  for (const int64_t axis : perm) {
    valid = valid && 0 <= axis && axis < rank && !seen[static_cast<size_t>(axis)];
    if (valid) seen[static_cast<size_t>(axis)] = true;
  }
  TY_REQUIRE(valid, "perm is not a permutation of {} dimensions", rank);
  return perm;
}

std::vector<TensorType> infer_transpose(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  std::vector<int64_t> dims;
  for (const int64_t axis : permutation(node)) dims.push_back(x.shape[axis]);
  return {{x.dtype, Shape(std::move(dims))}};
}

Routine routine_transpose(const NodeView& node) {
  return [perm = permutation(node)](Views inputs, Views outputs) {
    const std::vector<int64_t> own = inputs[0].shape->strides();
    std::vector<int64_t> strides;
    for (const int64_t axis : perm) strides.push_back(own[static_cast<size_t>(axis)]);
    const Shape& shape = *outputs[0].shape;
    copy_strided(shape.dims(), dtype_size(inputs[0].dtype), inputs[0].data, strides,
                 outputs[0].data, shape.strides());
  };
}

std::vector<ValueId> gradient_transpose(GradContext& grad) {
  const std::vector<int64_t> perm = permutation(grad.node());
  std::vector<int64_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  }
  return {grad.add("Transpose", {grad.dy()}, {{"perm", inverse}})};
}

Movement movement_transpose(const NodeView& node) {
  const std::vector<int64_t> perm = permutation(node);
  return std::is_sorted(perm.begin(), perm.end()) ? Movement::kView : Movement::kMoved;
}

// Channels may move; the spatial dimensions must stay last and in order.
Reaches reach_transpose(const NodeView& node, size_t dims) {
  const std::vector<int64_t> perm = permutation(node);
  if (perm.size() < dims) return std::nullopt;
  for (size_t axis = perm.size() - dims; axis < perm.size(); ++axis) {
    if (perm[axis] != static_cast<int64_t>(axis)) return std::nullopt;
  }
  return same_position(node, dims);
}

}  // namespace

extern const OpDef kTranspose = {.name = "Transpose",
                                 .kind = OpKind::kDataMovement,
                                 .attributes = kTransposeAttributes,
                                 .infer = infer_transpose,
                                 .routine = routine_transpose,
                                 .reach = reach_transpose,
                                 .gradient = gradient_transpose,
                                 .saves = SavedTensors::kNothing,
                                 .movement = movement_transpose,
                                 .int8 = Int8Form::kMove};

}  // namespace trainyard::ops
