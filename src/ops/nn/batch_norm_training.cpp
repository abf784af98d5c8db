// Batch normalization while training, with the batch's statistics as outputs so that backward need
// not take them again, and its gradient.
//
// BatchNormTraining: (x, scale, bias, running_mean, running_var, residual?) ->
//   (y, mean, variance, running_mean', running_var'), y = activation(normalized + residual),
//   running' = running * momentum + batch * (1 - momentum).
// BatchNormGrad: (x, scale, mean, variance, dy, bias?, y?, dy'?) -> (dx, dscale, dbias,
//   dresidual?). With an activation it needs to know where y lies: from y, or, where nothing was
//   added, from x and bias. dy' is a second part of dy, to be added to it.
// With fixed_statistics mean and variance are the running ones and stay as they are, so that they
// are constants of the gradient: what fine-tuning with kept statistics trains is scale and bias.
// With all_images, the images of all workers of a job, statistics and the sums of the gradient are
// taken over the images of all of them; dscale and dbias are then this worker's share of the sums.
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/math/activation.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kBatchNormTrainingAttributes[] = {
    {"activation", AttrKind::kText},       {"activation_alpha", AttrKind::kFloat},
    {"activation_beta", AttrKind::kFloat}, {"all_images", AttrKind::kInt},
    {"epsilon", AttrKind::kFloat},         {"fixed_statistics", AttrKind::kInt},
    {"momentum", AttrKind::kFloat}};
constexpr AttrSpec kGradAttributes[] = {
    {"activation", AttrKind::kText},       {"activation_alpha", AttrKind::kFloat},
    {"activation_beta", AttrKind::kFloat}, {"all_images", AttrKind::kInt},
    {"epsilon", AttrKind::kFloat},         {"fixed_statistics", AttrKind::kInt}};
constexpr size_t kResidual = 5;
constexpr size_t kGradBias = 5;
constexpr size_t kGradY = 6;
constexpr size_t kGradMoreDy = 7;
constexpr ParamRole kBatchNormTrainingRoles[] = {ParamRole::kNone, ParamRole::kWeight,
                                                 ParamRole::kBias, ParamRole::kStatistic,
                                                 ParamRole::kStatistic};

void require_channels(const NodeView& node, size_t first, size_t last) {
  const Shape& x = node.input_shape(0);
  TY_REQUIRE(x.rank() >= 2, "input has shape {}, expected N x C x …", x.to_string());
  for (size_t i = first; i <= last; ++i) {
    TY_REQUIRE(node.input_shape(i) == Shape{x[1]}, "input {} has shape {}, expected {} channels", i,
               node.input_shape(i).to_string(), x[1]);
  }
}

void require_like_x(const NodeView& node, size_t i, std::string_view what) {
  TY_REQUIRE(node.input_type(i) == node.input_type(0), "{} is {}, expected {}", what,
             node.input_type(i).to_string(), node.input_type(0).to_string());
}

// Those whose gradient follows from y alone.
void require_clamp(const NodeView& node) {
  const std::string op = node.attr_text("activation", "");
  TY_REQUIRE(op.empty() || op == "Relu" || op == "Clip", "activation '{}' is not one of Relu, Clip",
             op);
}

std::vector<TensorType> infer_batch_norm_training(const NodeView& node) {
  require_channels(node, 1, 4);
  require_clamp(node);
  if (node.has_input(kResidual)) require_like_x(node, kResidual, "the residual");
  const TensorType& channel = node.input_type(1);
  return {node.input_type(0), channel, channel, channel, channel};
}

std::vector<TensorType> infer_grad_batch_norm_training(const NodeView& node) {
  require_channels(node, 1, 3);
  require_like_x(node, 4, "dy");
  require_clamp(node);
  if (node.has_input(kGradBias)) require_channels(node, kGradBias, kGradBias);
  if (node.has_input(kGradY)) require_like_x(node, kGradY, "y");
  if (node.has_input(kGradMoreDy)) require_like_x(node, kGradMoreDy, "the second part of dy");
  TY_REQUIRE(!node.has_attr("activation") || node.has_input(kGradBias) || node.has_input(kGradY),
             "with an activation it needs bias or y");
  return {node.input_type(0), node.input_type(1), node.input_type(1), node.input_type(0)};
}

// Mean (1), variance (3), normalize and scale (3) per element.
Cost cost_batch_norm_training(const NodeView& node) {
  const int64_t statistics = node.attr_int("fixed_statistics", 0) != 0 ? 0 : 4;
  const int64_t sum = node.has_input(kResidual) ? 1 : 0;
  return elementwise_cost(node, 3 + statistics + sum + activation_flops(node));
}
// Two sums (4), then the combination (5) per element.
Cost cost_grad_batch_norm_training(const NodeView& node) {
  const int64_t sum = node.has_input(kGradMoreDy) ? 1 : 0;
  return elementwise_cost(node, 9 + sum + activation_flops(node));
}

std::vector<ValueId> gradient_batch_norm_training(GradContext& grad) {
  const bool activates = grad.node().has_attr("activation");
  const bool adds = grad.node().has_input(kResidual);
  Attributes attributes = grad.attributes();
  attributes.erase("momentum");
  std::vector<ValueId> inputs = {grad.x(0), grad.x(1), grad.y(1), grad.y(2), grad.dy()};
  if (activates) inputs.push_back(adds ? kNoValue : grad.x(2));
  if (activates && adds) inputs.push_back(grad.y());
  // Without an activation what was added gets dy as it is.
  const bool masks_residual = activates && adds && grad.wants(kResidual);
  const std::vector<ValueId> all = grad.builder().add_multi(
      "BatchNormGrad", inputs, masks_residual ? 4 : 3, std::move(attributes));
  return {all[0], all[1], all[2], kNoValue, kNoValue, masks_residual ? all[3] : grad.dy()};
}

}  // namespace

extern const OpDef kBatchNormTraining = {.name = "BatchNormTraining",
                                         .kind = OpKind::kNormalization,
                                         .inputs = {5, 6},
                                         .outputs = {5, 5},
                                         .attributes = kBatchNormTrainingAttributes,
                                         .roles = kBatchNormTrainingRoles,
                                         .infer = infer_batch_norm_training,
                                         .cost = cost_batch_norm_training,
                                         .gradient = gradient_batch_norm_training};
extern const OpDef kBatchNormGrad = {.name = "BatchNormGrad",
                                     .kind = OpKind::kNormalization,
                                     .inputs = {5, 8},
                                     .outputs = {3, 4},
                                     .attributes = kGradAttributes,
                                     .infer = infer_grad_batch_norm_training,
                                     .cost = cost_grad_batch_norm_training};

}  // namespace trainyard::ops
