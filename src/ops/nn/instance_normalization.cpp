// InstanceNormalization: y = scale * (x - mean) / sqrt(var + epsilon) + bias, where mean and
// variance are those of one channel of one image.
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/nn/standardize.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kInstanceNormalizationAttributes[] = {{"epsilon", AttrKind::kFloat}};
constexpr ParamRole kInstanceNormalizationRoles[] = {ParamRole::kNone, ParamRole::kWeight,
                                                     ParamRole::kBias};

std::vector<TensorType> infer_instance_normalization(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  TY_REQUIRE(x.shape.rank() >= 3, "input has shape {}, expected N x C x spatial",
             x.shape.to_string());
  require_floats(node, {1, 2});
  for (size_t i = 1; i < 3; ++i) {
    TY_REQUIRE(node.input_shape(i) == Shape{x.shape[1]},
               "input {} has shape {}, expected {} channels", i, node.input_shape(i).to_string(),
               x.shape[1]);
  }
  return {x};
}

// Per element: one addition for the mean, three for the variance, then subtract, scale and shift.
Cost cost_instance_normalization(const NodeView& node) {
  return elementwise_cost(node, 7);
}

std::vector<ValueId> gradient_instance_normalization(GradContext& grad) {
  const Shape x = grad.x_shape(0);
  std::vector<int64_t> axes;
  Shape channels = x;
  channels[0] = 1;
  for (int64_t i = 2; i < x.rank(); ++i) {
    axes.push_back(i);
    channels[i] = 1;
  }
  const Standardized s =
      standardize(grad, grad.x(0), axes, double{grad.node().attr_float("epsilon", 1e-5F)});
  // To one number per channel.
  const auto sum = [&](ValueId value) {
    return grad.reshape(grad.sum_to(value, channels), Shape{x[1]});
  };
  std::vector<ValueId> dx(3, kNoValue);
  if (grad.wants(0)) {
    const ValueId scale = grad.reshape(grad.x(1), channels);
    dx[0] = standardize_gradient(grad, s, grad.add("Mul", {grad.dy(), scale}));
  }
  if (grad.wants(1)) dx[1] = sum(grad.add("Mul", {grad.dy(), s.value}));
  if (grad.wants(2)) dx[2] = sum(grad.dy());
  return dx;
}

}  // namespace

extern const OpDef kInstanceNormalization = {.name = "InstanceNormalization",
                                             .kind = OpKind::kNormalization,
                                             .inputs = {3, 3},
                                             .attributes = kInstanceNormalizationAttributes,
                                             .roles = kInstanceNormalizationRoles,
                                             .infer = infer_instance_normalization,
                                             .cost = cost_instance_normalization,
                                             .gradient = gradient_instance_normalization,
                                             .saves = SavedTensors::kInput};

}  // namespace trainyard::ops
