// Batch normalisation while training, with the batch's statistics as outputs so that backward need
// not take them again, and its gradient.
//
// BatchNormTraining: (x, scale, bias, running_mean, running_var) ->
//   (y, mean, variance, running_mean', running_var'), running' = running * momentum + batch * (1 -
//   momentum).
// BatchNormGrad: (x, scale, mean, variance, dy) -> (dx, dscale, dbias).
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kAttributes[] = {{"epsilon", AttrKind::kFloat}, {"momentum", AttrKind::kFloat}};
constexpr AttrSpec kGradAttributes[] = {{"epsilon", AttrKind::kFloat}};
constexpr ParamRole kRoles[] = {ParamRole::kNone, ParamRole::kWeight, ParamRole::kBias,
                                ParamRole::kStatistic, ParamRole::kStatistic};

void require_channels(const NodeView& node, size_t first, size_t last) {
  const Shape& x = node.input_shape(0);
  TY_REQUIRE(x.rank() >= 2, "input has shape {}, expected N x C x …", x.to_string());
  for (size_t i = first; i <= last; ++i) {
    TY_REQUIRE(node.input_shape(i) == Shape{x[1]}, "input {} has shape {}, expected {} channels", i,
               node.input_shape(i).to_string(), x[1]);
  }
}

std::vector<TensorType> infer(const NodeView& node) {
  require_channels(node, 1, 4);
  const TensorType& channel = node.input_type(1);
  return {node.input_type(0), channel, channel, channel, channel};
}

std::vector<TensorType> infer_grad(const NodeView& node) {
  require_channels(node, 1, 3);
  TY_REQUIRE(node.input_shape(4) == node.input_shape(0), "dy has shape {}, expected {}",
             node.input_shape(4).to_string(), node.input_shape(0).to_string());
  return {node.input_type(0), node.input_type(1), node.input_type(1)};
}

// Mean (1), variance (3), normalise and scale (3) per element.
Cost cost(const NodeView& node) {
  return elementwise_cost(node, 7);
}
// Two sums (4), then the combination (5) per element.
Cost cost_grad(const NodeView& node) {
  return elementwise_cost(node, 9);
}

std::vector<ValueId> gradient(GradContext& grad) {
  const float epsilon = grad.node().attr_float("epsilon", 1e-5F);
  const std::vector<ValueId> all = grad.builder().add_multi(
      "BatchNormGrad", {grad.x(0), grad.x(1), grad.y(1), grad.y(2), grad.dy()}, 3,
      {{"epsilon", epsilon}});
  return {all[0], all[1], all[2], kNoValue, kNoValue};
}

}  // namespace

extern const OpDef kBatchNormTraining = {.name = "BatchNormTraining",
                                         .kind = OpKind::kNormalization,
                                         .inputs = {5, 5},
                                         .outputs = {5, 5},
                                         .attributes = kAttributes,
                                         .roles = kRoles,
                                         .infer = infer,
                                         .cost = cost,
                                         .gradient = gradient};
extern const OpDef kBatchNormGrad = {.name = "BatchNormGrad",
                                     .kind = OpKind::kNormalization,
                                     .inputs = {5, 5},
                                     .outputs = {3, 3},
                                     .attributes = kGradAttributes,
                                     .infer = infer_grad,
                                     .cost = cost_grad};

}  // namespace trainyard::ops
