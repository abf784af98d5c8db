// ConstantOfShape: one value, repeated to fill the shape that is the input.
#include <cstring>

#include "base/error.h"
#include "ops/layout/shape_input.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kConstantOfShapeAttributes[] = {{"value", AttrKind::kTensor}};

Tensor value_of_constant_of_shape(const NodeView& node) {
  const Tensor* value = node.attr_tensor("value");
  if (value == nullptr) return Tensor::scalar(0.0F);
  TY_REQUIRE(value->num_elements() == 1, "value has {} elements, expected one",
             value->num_elements());
  return value->clone();
}

std::vector<TensorType> infer_constant_of_shape(const NodeView& node) {
  return {{value_of_constant_of_shape(node).dtype(), shape_from_input(node, 0)}};
}

Routine routine_constant_of_shape(const NodeView& node) {
  return [value = std::make_shared<const Tensor>(value_of_constant_of_shape(node))](Views,
                                                                                    Views outputs) {
    const auto size = static_cast<size_t>(value->num_bytes());
    auto* to = outputs[0].as<std::byte>();
    for (int64_t i = 0; i < outputs[0].num_elements(); ++i, to += size) {
      std::memcpy(to, value->data(), size);
    }
  };
}

}  // namespace

extern const OpDef kConstantOfShape = {.name = "ConstantOfShape",
                                       .kind = OpKind::kDataMovement,
                                       .attributes = kConstantOfShapeAttributes,
                                       .infer = infer_constant_of_shape,
                                       .routine = routine_constant_of_shape,
                                       .no_gradient = NoGradient::kNever};

}  // namespace trainyard::ops
