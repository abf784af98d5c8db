// Split: the input cut into pieces along `axis`, of the sizes that input 1 gives or all equal.
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kSplitAttributes[] = {{"axis", AttrKind::kInt}};

int64_t axis_of_split(const NodeView& node) {
  return normalize_axis(node.attr_int("axis", 0), node.input_shape(0).rank(), "Split");
}

std::vector<int64_t> piece_sizes(const NodeView& node) {
  const int64_t size = node.input_shape(0)[axis_of_split(node)];
  const auto count = static_cast<int64_t>(node.num_outputs());
  if (node.has_input(1)) {
    const auto sizes = node.input_ints(1);
    if (!sizes) return std::vector<int64_t>(node.num_outputs(), Shape::kUnknown);
    TY_REQUIRE(static_cast<int64_t>(sizes->size()) == count, "{} sizes for {} outputs",
               sizes->size(), count);
    int64_t total = 0;
    for (const int64_t piece : *sizes) {
      TY_REQUIRE(piece >= 0, "a piece has size {}", piece);
      total = dim_sum(total, piece);
    }
    TY_REQUIRE(size == Shape::kUnknown || total == size,
               "pieces of {} in all are cut from a dimension of {}", total, size);
    return *sizes;
  }
  TY_REQUIRE(size == Shape::kUnknown || size % count == 0,
             "a dimension of {} cannot be cut into {} equal pieces", size, count);
  return std::vector<int64_t>(node.num_outputs(),
                              size == Shape::kUnknown ? Shape::kUnknown : size / count);
}

std::vector<TensorType> infer_split(const NodeView& node) {
  std::vector<TensorType> pieces;
  for (const int64_t size : piece_sizes(node)) {
    pieces.push_back(node.input_type(0));
    pieces.back().shape[axis_of_split(node)] = size;
  }
  return pieces;
}

Routine routine_split(const NodeView& node) {
  return [axis = axis_of_split(node), sizes = piece_sizes(node)](Views inputs, Views outputs) {
    const TensorView& x = inputs[0];
    const int64_t size = dtype_size(x.dtype);
    const std::vector<int64_t> strides = x.shape->strides();
    const auto* from = x.as<const std::byte>();
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].data != nullptr) {
        const Shape& piece = *outputs[i].shape;
        copy_strided(piece.dims(), size, from, strides, outputs[i].data, piece.strides());
      }
      from += sizes[i] * strides[static_cast<size_t>(axis)] * size;
    }
  };
}

// A piece that nothing depends on has zeros.
std::vector<ValueId> gradient_split(GradContext& grad) {
  std::vector<ValueId> pieces;
  for (size_t i = 0; i < grad.node().num_outputs(); ++i) {
    Shape shape = grad.x_shape(0);
    shape[axis_of_split(grad.node())] = piece_sizes(grad.node())[i];
    pieces.push_back(grad.dy(i).valid() ? grad.dy(i) : grad.zeros(shape));
  }
  return {grad.add("Concat", pieces, {{"axis", axis_of_split(grad.node())}}), kNoValue};
}

}  // namespace

// Inputs: x, sizes.
extern const OpDef kSplit = {.name = "Split",
                             .kind = OpKind::kDataMovement,
                             .inputs = {1, 2},
                             .outputs = {1, Arity::kMany},
                             .attributes = kSplitAttributes,
                             .infer = infer_split,
                             .routine = routine_split,
                             .gradient = gradient_split,
                             .saves = SavedTensors::kNothing,
                             .movement = always_moved};

}  // namespace trainyard::ops
