// GatedExperts: gated feed-forward parts side by side, of which each row counts some. With the rows
// of `gate`, `up` and the columns of `down` that belong to expert e,
// y = sum over e of ((swish(x gate_e^T) * (x up_e^T)) * weight_e) down_e^T. An expert that counts 0
// for a row is not computed for it. Inputs: x [rows, hidden], gate and up [experts * inner,
// hidden], down [hidden, experts * inner], weight [rows, experts].
//
// GatedExpertsGrad: the gradients of all five from (x, gate, up, down, weight, dy). That of a
// weight of 0 is 0: it is for weights whose zeros stay.
#include "ops/nn/gated_experts.h"

#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr size_t kDy = 5;
// Weights of a row that are not 0, for the estimate of the cost; absent: all.
constexpr AttrSpec kExpertAttributes[] = {{"active", AttrKind::kInt}};
constexpr ParamRole kExpertRoles[] = {ParamRole::kNone, ParamRole::kWeight, ParamRole::kWeight,
                                      ParamRole::kWeight, ParamRole::kNone};

std::vector<TensorType> infer_gated_experts(const NodeView& node) {
  expert_shape(node);
  return {node.input_type(0)};
}

std::vector<TensorType> infer_gated_experts_grad(const NodeView& node) {
  expert_shape(node);
  TY_REQUIRE(node.input_type(kDy) == node.input_type(0), "dy is {}, expected {}",
             node.input_type(kDy).to_string(), node.input_type(0).to_string());
  std::vector<TensorType> types;
  for (size_t i = 0; i < kDy; ++i) types.push_back(node.input_type(i));
  return types;
}

Cost cost_of_products(const NodeView& node, int64_t products) {
  const ExpertShape s = expert_shape(node);
  const int64_t active = node.attr_int("active", s.experts);
  Cost cost = traffic(node);
  cost.macs = products * s.rows * active * s.hidden * s.inner;
  cost.flops = 2 * cost.macs;
  return cost;
}

Cost cost_gated_experts(const NodeView& node) {
  return cost_of_products(node, 3);
}

// Gate and up once more, then two products for each of the three.
Cost cost_gated_experts_grad(const NodeView& node) {
  return cost_of_products(node, 8);
}

std::vector<ValueId> gradient_gated_experts(GradContext& grad) {
  std::vector<ValueId> operands;
  for (size_t i = 0; i < kDy; ++i) operands.push_back(grad.x(i));
  operands.push_back(grad.dy());
  return grad.builder().add_multi("GatedExpertsGrad", std::move(operands), kDy, grad.attributes());
}

}  // namespace

ExpertShape expert_shape(const NodeView& node) {
  for (size_t i = 0; i < kDy; ++i) {
    TY_REQUIRE(node.input_shape(i).rank() == 2, "input {} has {} dimensions, expected 2", i,
               node.input_shape(i).rank());
  }
  require_floats(node, {1, 2, 3, 4});
  const Shape& x = node.input_shape(0);
  const Shape& gate = node.input_shape(1);
  const Shape& weight = node.input_shape(4);
  const bool known = weight[1] != Shape::kUnknown && gate[0] != Shape::kUnknown;
  TY_REQUIRE(!known || (weight[1] > 0 && gate[0] % weight[1] == 0),
             "{} rows of a gate for {} experts", gate[0], weight[1]);
  const int64_t active = node.attr_int("active", 1);
  TY_REQUIRE(active >= 1 && (!known || active <= weight[1]), "active is {} of {} experts", active,
             weight[1]);
  require_dims("the gate", gate, {gate[0], x[1]});
  require_dims("up", node.input_shape(2), {gate[0], x[1]});
  require_dims("down", node.input_shape(3), {x[1], gate[0]});
  require_dims("the weight", weight, {x[0], weight[1]});
  return {.rows = x[0],
          .hidden = x[1],
          .experts = weight[1],
          .inner = known ? gate[0] / weight[1] : Shape::kUnknown};
}

extern const OpDef kGatedExperts = {.name = "GatedExperts",
                                    .kind = OpKind::kLinear,
                                    .inputs = {5, 5},
                                    .attributes = kExpertAttributes,
                                    .roles = kExpertRoles,
                                    .infer = infer_gated_experts,
                                    .cost = cost_gated_experts,
                                    .gradient = gradient_gated_experts};

extern const OpDef kGatedExpertsGrad = {.name = "GatedExpertsGrad",
                                        .kind = OpKind::kLinear,
                                        .inputs = {6, 6},
                                        .outputs = {5, 5},
                                        .attributes = kExpertAttributes,
                                        .infer = infer_gated_experts_grad,
                                        .cost = cost_gated_experts_grad};

}  // namespace trainyard::ops
