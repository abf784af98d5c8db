// BatchNormalization: y = scale * (x - mean) / sqrt(var + epsilon) + bias, per channel.
//
// With training_mode = 1 mean and variance are those of the batch, and outputs 1 and 2 are the
// running statistics after the step: running * momentum + batch * (1 - momentum).
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kBatchNormalizationAttributes[] = {{"epsilon", AttrKind::kFloat},
                                                      {"momentum", AttrKind::kFloat},
                                                      {"training_mode", AttrKind::kInt}};
constexpr ParamRole kBatchNormalizationRoles[] = {ParamRole::kNone, ParamRole::kWeight,
                                                  ParamRole::kBias, ParamRole::kStatistic,
                                                  ParamRole::kStatistic};

std::vector<TensorType> infer_batch_normalization(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  TY_REQUIRE(x.shape.rank() >= 2, "input has shape {}, expected N x C x …", x.shape.to_string());
  for (size_t i = 1; i < 5; ++i) {
    TY_REQUIRE(node.input_shape(i) == Shape{x.shape[1]},
               "input {} has shape {}, expected {} channels", i, node.input_shape(i).to_string(),
               x.shape[1]);
  }
  TY_REQUIRE(node.attr_int("training_mode", 0) != 0 || node.num_outputs() == 1,
             "running statistics are outputs in training mode only");
  return {x, node.input_type(3), node.input_type(4)};
}

// Inference is one multiply-add per element; training also takes mean, variance and normalizes.
Cost cost_batch_normalization(const NodeView& node) {
  return elementwise_cost(node, node.attr_int("training_mode", 0) != 0 ? 7 : 2);
}

// With fixed statistics the operator is affine: xhat = (x - mean) / sqrt(var + epsilon), y = scale
// * xhat + bias.
std::vector<ValueId> gradient_batch_normalization(GradContext& grad) {
  TY_REQUIRE(grad.node().attr_int("training_mode", 0) == 0,
             "differentiate BatchNormTraining instead, which keeps the batch's statistics");
  const Shape x = grad.x_shape(0);
  std::vector<int64_t> spread(static_cast<size_t>(x.rank()), 1);
  spread[1] = x[1];
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i != 1) axes.push_back(i);
  }
  const auto per_channel_sum = [&](ValueId value) {
    return grad.add("ReduceSum", {value, grad.ints(axes)}, {{"keepdims", int64_t{0}}});
  };
  const ValueId epsilon = grad.scalar(grad.node().attr_float("epsilon", 1e-5F));
  const ValueId deviation = grad.add("Sqrt", {grad.add("Add", {grad.x(4), epsilon})});
  std::vector<ValueId> dx(5, kNoValue);
  if (grad.wants(0)) {
    const ValueId factor = grad.add("Div", {grad.x(1), deviation});
    dx[0] = grad.add("Mul", {grad.dy(), grad.reshape(factor, Shape(spread))});
  }
  if (grad.wants(1)) {
    const ValueId centered = grad.add("Sub", {grad.x(0), grad.reshape(grad.x(3), Shape(spread))});
    dx[1] = grad.add("Div", {per_channel_sum(grad.add("Mul", {grad.dy(), centered})), deviation});
  }
  if (grad.wants(2)) dx[2] = per_channel_sum(grad.dy());
  return dx;
}

}  // namespace

extern const OpDef kBatchNormalization = {.name = "BatchNormalization",
                                          .kind = OpKind::kNormalization,
                                          .inputs = {5, 5},
                                          .outputs = {1, 3},
                                          .attributes = kBatchNormalizationAttributes,
                                          .roles = kBatchNormalizationRoles,
                                          .infer = infer_batch_normalization,
                                          .cost = cost_batch_normalization,
                                          .reach = same_position,
                                          .gradient = gradient_batch_normalization,
                                          .saves = SavedTensors::kInputAndStatistics,
                                          .overwrites = true,
                                          .in_training = "BatchNormTraining",
                                          .passes = MemoryPasses{2, 3, 5}};

}  // namespace trainyard::ops
