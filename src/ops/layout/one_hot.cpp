// OneHot: a new dimension of `depth` with the on-value where the index points, the off-value
// elsewhere; an index outside points nowhere.
#include <cstring>

#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kOneHotAttributes[] = {{"axis", AttrKind::kInt}};

int64_t axis_of_one_hot(const NodeView& node) {
  return normalize_axis(node.attr_int("axis", -1), node.input_shape(0).rank() + 1, "OneHot");
}

std::vector<TensorType> infer_one_hot(const NodeView& node) {
  TY_REQUIRE(node.input_shape(1).num_elements() == 1, "depth has shape {}, expected a scalar",
             node.input_shape(1).to_string());
  TY_REQUIRE(node.input_shape(2).num_elements() == 2,
             "values have shape {}, expected two: off and on", node.input_shape(2).to_string());
  const Tensor* depth = node.input_constant(1);
  const int64_t size = depth == nullptr ? Shape::kUnknown : element_as_int(*depth, 0);
  TY_REQUIRE(depth == nullptr || size >= 0, "depth is {}", size);
  std::vector<int64_t> dims = node.input_shape(0).vector();
  dims.insert(dims.begin() + axis_of_one_hot(node), size);
  return {{node.input_type(2).dtype, Shape(std::move(dims))}};
}

Routine routine_one_hot(const NodeView& node) {
  return [axis = axis_of_one_hot(node)](Views inputs, Views outputs) {
    const Shape& y = *outputs[0].shape;
    const int64_t depth = y[axis];
    const int64_t inner = y.num_elements(axis + 1, y.rank());
    const auto size = static_cast<size_t>(dtype_size(outputs[0].dtype));
    auto* to = outputs[0].as<std::byte>();
    for (int64_t i = 0; i < y.num_elements(); ++i, to += size) {
      const int64_t at = i / inner % depth;
      const int64_t index = element_as_int(inputs[0], i / (depth * inner) * inner + i % inner);
      const bool on = at == (index < 0 ? index + depth : index);
      std::memcpy(to, inputs[2].as<const std::byte>() + (on ? size : 0), size);
    }
  };
}

}  // namespace

// Inputs: indices, depth, values (off, on).
extern const OpDef kOneHot = {.name = "OneHot",
                              .kind = OpKind::kDataMovement,
                              .inputs = {3, 3},
                              .attributes = kOneHotAttributes,
                              .infer = infer_one_hot,
                              .routine = routine_one_hot,
                              .no_gradient = NoGradient::kNever};

}  // namespace trainyard::ops
