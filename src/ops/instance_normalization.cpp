// InstanceNormalization: y = scale * (x - mean) / sqrt(var + epsilon) + bias, where mean and
// variance are those of one channel of one image.
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kAttributes[] = {{"epsilon", AttrKind::kFloat}};
constexpr ParamRole kRoles[] = {ParamRole::kNone, ParamRole::kWeight, ParamRole::kBias};

std::vector<TensorType> infer(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  TY_REQUIRE(x.shape.rank() >= 3, "input has shape {}, expected N x C x spatial",
             x.shape.to_string());
  for (size_t i = 1; i < 3; ++i) {
    TY_REQUIRE(node.input_shape(i) == Shape{x.shape[1]},
               "input {} has shape {}, expected {} channels", i, node.input_shape(i).to_string(),
               x.shape[1]);
  }
  return {x};
}

// Per element: one addition for the mean, three for the variance, then subtract, scale and shift.
Cost cost(const NodeView& node) {
  return elementwise_cost(node, 7);
}

}  // namespace

extern const OpDef kInstanceNormalization = {.name = "InstanceNormalization",
                                             .kind = OpKind::kNormalization,
                                             .inputs = {3, 3},
                                             .attributes = kAttributes,
                                             .roles = kRoles,
                                             .infer = infer,
                                             .cost = cost};

}  // namespace trainyard::ops
