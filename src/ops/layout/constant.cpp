// Constant: a value written into the graph. Import turns most of them into initializers.
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kConstantAttributes[] = {{"value", AttrKind::kTensor},
                                            {"value_float", AttrKind::kFloat},
                                            {"value_floats", AttrKind::kFloats},
                                            {"value_int", AttrKind::kInt},
                                            {"value_ints", AttrKind::kInts}};

Tensor value_of_constant(const NodeView& node) {
  if (const Tensor* tensor = node.attr_tensor("value")) return tensor->clone();
  if (node.has_attr("value_float")) return Tensor::scalar(node.attr_float("value_float", 0));
  if (node.has_attr("value_int")) return Tensor::scalar(node.attr_int("value_int", 0));
  if (node.has_attr("value_ints")) return Tensor::of_ints(node.attr_ints("value_ints", {}));
  if (node.has_attr("value_floats")) {
    const std::vector<float> values = node.attr_floats("value_floats", {});
    return Tensor::of<float>(Shape{static_cast<int64_t>(values.size())}, values);
  }
  throw_error(
      "it has no value (attributes value, value_float, value_int, value_floats, value_ints)");
}

std::vector<TensorType> infer_constant(const NodeView& node) {
  return {value_of_constant(node).type()};
}

Routine routine_constant(const NodeView& node) {
  const auto value = std::make_shared<const Tensor>(value_of_constant(node));
  return [value](Views, Views outputs) {
    const TensorView from = value->view();
    copy_elements(std::span(&from, 1), outputs);
  };
}

}  // namespace

extern const OpDef kConstant = {.name = "Constant",
                                .kind = OpKind::kDataMovement,
                                .inputs = {0, 0},
                                .attributes = kConstantAttributes,
                                .infer = infer_constant,
                                .routine = routine_constant,
                                .no_gradient = NoGradient::kNever};

}  // namespace trainyard::ops
