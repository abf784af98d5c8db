// ScaleShift: activation(x * scale[c] + shift[c]), what is left of a normalization whose statistics
// are known. The compiler makes it; no file has it.
#include "base/error.h"
#include "ops/math/activation.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kScaleShiftAttributes[] = {{"activation", AttrKind::kText},
                                              {"activation_alpha", AttrKind::kFloat},
                                              {"activation_beta", AttrKind::kFloat}};
constexpr ParamRole kScaleShiftRoles[] = {ParamRole::kNone, ParamRole::kWeight, ParamRole::kBias};

std::vector<TensorType> infer_scale_shift(const NodeView& node) {
  check_activation(node);
  const TensorType& x = node.input_type(0);
  TY_REQUIRE(x.shape.rank() >= 2, "input has shape {}, expected N x C x …", x.shape.to_string());
  for (size_t i = 1; i < 3; ++i) {
    TY_REQUIRE(node.input_type(i).dtype == x.dtype && node.input_shape(i) == Shape{x.shape[1]},
               "input {} is {}, expected {} numbers", i, node.input_type(i).to_string(),
               x.shape[1]);
  }
  return {x};
}

Cost cost_scale_shift(const NodeView& node) {
  return elementwise_cost(node, 2 + activation_flops(node));
}

}  // namespace

extern const OpDef kScaleShift = {.name = "ScaleShift",
                                  .kind = OpKind::kNormalization,
                                  .inputs = {3, 3},
                                  .attributes = kScaleShiftAttributes,
                                  .roles = kScaleShiftRoles,
                                  .infer = infer_scale_shift,
                                  .cost = cost_scale_shift,
                                  .with_activation = "ScaleShift"};

}  // namespace trainyard::ops
