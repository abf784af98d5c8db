// BatchNormalization: y = scale * (x - mean) / sqrt(var + epsilon) + bias, per channel.
//
// With training_mode = 1 mean and variance are those of the batch, and outputs 1 and 2 are the
// running statistics after the step: running * momentum + batch * (1 - momentum).
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kAttributes[] = {{"epsilon", AttrKind::kFloat},
                                    {"momentum", AttrKind::kFloat},
                                    {"training_mode", AttrKind::kInt}};
constexpr ParamRole kRoles[] = {ParamRole::kNone, ParamRole::kWeight, ParamRole::kBias,
                                ParamRole::kStatistic, ParamRole::kStatistic};

std::vector<TensorType> infer(const NodeView& node) {
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

// Inference is one multiply-add per element; training also takes mean, variance and normalises.
Cost cost(const NodeView& node) {
  return elementwise_cost(node, node.attr_int("training_mode", 0) != 0 ? 7 : 2);
}

}  // namespace

extern const OpDef kBatchNormalization = {.name = "BatchNormalization",
                                          .kind = OpKind::kNormalization,
                                          .inputs = {5, 5},
                                          .outputs = {1, 3},
                                          .attributes = kAttributes,
                                          .roles = kRoles,
                                          .infer = infer,
                                          .cost = cost};

}  // namespace trainyard::ops
