// Momentum, Adagrad and Adam (ai.onnx.preview.training), AdamW, RmsProp, Lars, Lion and Lamb: one
// optimizer step for any number of tensors. Inputs are the learning rate, the update count, then
// all tensors, all their gradients and all their states; outputs are the new tensors and the new
// states.
//
// AdamW (Loshchilov and Hutter): Adam with weights that shrink by rate * weight_decay instead of a
// regularized gradient, its means corrected by the count, which is 1 at the first update.
// RmsProp (Graves 2013, Hinton): the gradient divided by the root of its variance, from running
// means of the gradient and of its square; epsilon is added to the root, and norm_coefficient * x
// to the gradient first. Lars (You, Gitman and Ginsburg): momentum with a rate of its own for each
// tensor, trust * |x| / (|g| + weight_decay * |x|). Lion (Chen et al. 2023): the sign of a mean of
// momentum and gradient, which is weighted otherwise in the mean than in the momentum. Lamb (You et
// al. 2020): the move of AdamW, decay included, scaled for each tensor to the norm of the tensor.
//
// MovingAverage keeps averages of tensors the same way: its "tensors" are the averages, its
// "gradients" the tensors, and the rate is the share of the new tensors.
#include <cmath>

#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kMomentumAttributes[] = {{"alpha", AttrKind::kFloat, true},
                                            {"beta", AttrKind::kFloat, true},
                                            {"mode", AttrKind::kText, true},
                                            {"norm_coefficient", AttrKind::kFloat, true}};
constexpr AttrSpec kAdagradAttributes[] = {{"decay_factor", AttrKind::kFloat},
                                           {"epsilon", AttrKind::kFloat},
                                           {"norm_coefficient", AttrKind::kFloat}};
constexpr AttrSpec kAdamAttributes[] = {{"alpha", AttrKind::kFloat},
                                        {"beta", AttrKind::kFloat},
                                        {"epsilon", AttrKind::kFloat},
                                        {"norm_coefficient", AttrKind::kFloat},
                                        {"norm_coefficient_post", AttrKind::kFloat}};
constexpr AttrSpec kAdamWAttributes[] = {{"alpha", AttrKind::kFloat},
                                         {"beta", AttrKind::kFloat},
                                         {"epsilon", AttrKind::kFloat},
                                         {"weight_decay", AttrKind::kFloat}};
constexpr AttrSpec kRmsPropAttributes[] = {{"alpha", AttrKind::kFloat},
                                           {"epsilon", AttrKind::kFloat},
                                           {"norm_coefficient", AttrKind::kFloat}};
constexpr AttrSpec kLarsAttributes[] = {{"alpha", AttrKind::kFloat, true},
                                        {"trust", AttrKind::kFloat},
                                        {"weight_decay", AttrKind::kFloat}};
constexpr AttrSpec kLionAttributes[] = {
    {"alpha", AttrKind::kFloat}, {"beta", AttrKind::kFloat}, {"weight_decay", AttrKind::kFloat}};
constexpr size_t kFirstTensor = 2;

// `groups` counts tensor, gradient and states of one updated tensor.
std::vector<TensorType> infer_optimizer(const NodeView& node, size_t groups) {
  const size_t operands = node.num_inputs() - kFirstTensor;
  TY_REQUIRE(operands % groups == 0,
             "{} inputs follow rate and count, expected {} for each tensor: the tensor, its "
             "gradient and its states",
             operands, groups);
  const size_t tensors = operands / groups;
  TY_REQUIRE(node.num_outputs() == tensors * (groups - 1), "it has {} outputs, expected {}",
             node.num_outputs(), tensors * (groups - 1));
  TY_REQUIRE(node.input_shape(0).num_elements() == 1 && is_float(node.input_type(0).dtype),
             "the learning rate is {}, expected one float", node.input_type(0).to_string());
  TY_REQUIRE(node.input_type(1).dtype == DType::kI64 && node.input_shape(1).num_elements() == 1,
             "the update count is {}, expected one i64", node.input_type(1).to_string());
  for (const auto& [name, attribute] : node.node().attributes) {
    const auto* number = std::get_if<float>(&attribute);
    TY_REQUIRE(number == nullptr || std::isfinite(*number), "{} is {}", name, *number);
  }
  std::vector<TensorType> types;
  for (size_t i = 0; i < operands; ++i) {
    const TensorType& x = node.input_type(kFirstTensor + i % tensors);
    TY_REQUIRE(node.input_type(kFirstTensor + i) == x, "input {} is {}, expected {}",
               kFirstTensor + i, node.input_type(kFirstTensor + i).to_string(), x.to_string());
    // Outputs are the inputs without the gradients.
    if (i / tensors != 1) types.push_back(x);
  }
  return types;
}

std::vector<TensorType> infer_momentum(const NodeView& node) {
  const std::string mode = node.attr_text("mode", "");
  TY_REQUIRE(mode == "standard" || mode == "nesterov", "mode '{}' is not one of standard, nesterov",
             mode);
  return infer_optimizer(node, 3);
}

std::vector<TensorType> infer_two(const NodeView& node) {
  return infer_optimizer(node, 2);
}

// Of those with one state.
std::vector<TensorType> infer_three(const NodeView& node) {
  return infer_optimizer(node, 3);
}

// Of those with two.
std::vector<TensorType> infer_four(const NodeView& node) {
  return infer_optimizer(node, 4);
}

Cost step_cost(const NodeView& node, int64_t per_element) {
  Cost cost = traffic(node);
  for (size_t i = 0; i < node.num_outputs(); ++i) {
    if (node.has_output(i)) cost.flops += per_element * node.output_shape(i).num_elements();
  }
  return cost;
}

// Eight per element, in two outputs: regularize (2), momentum (3), update (2), Nesterov (1).
Cost cost_momentum(const NodeView& node) {
  return step_cost(node, 4);
}

// Ten per element, in two outputs: regularize (2), square and add (2), root and epsilon (2),
// scale, divide and update (4).
Cost cost_adagrad(const NodeView& node) {
  return step_cost(node, 5);
}

// Ten per element, in two outputs: two squares and their sums (4), regularize (2), momentum and
// rate (3), update (1).
Cost cost_lars(const NodeView& node) {
  return step_cost(node, 5);
}

// Fifteen per element, in three outputs: regularize (2), means (3 + 4), root and epsilon (2),
// scale, divide, update and shrink (4).
Cost cost_adam(const NodeView& node) {
  return step_cost(node, 5);
}

// Ten per element, in two outputs: two means (6), sign (1), shrink and update (3).
Cost cost_lion(const NodeView& node) {
  return step_cost(node, 5);
}

// Eighteen per element, in three outputs: means (7), move (4), decay (2), norms (4), update (1).
Cost cost_lamb(const NodeView& node) {
  return step_cost(node, 6);
}

// Subtract, scale and add.
Cost cost_moving_average(const NodeView& node) {
  return step_cost(node, 3);
}

}  // namespace

extern const OpDef kMomentum = {.name = "Momentum",
                                .kind = OpKind::kOptimizer,
                                .inputs = {5, Arity::kMany},
                                .outputs = {2, Arity::kMany},
                                .attributes = kMomentumAttributes,
                                .infer = infer_momentum,
                                .cost = cost_momentum};
extern const OpDef kAdagrad = {.name = "Adagrad",
                               .kind = OpKind::kOptimizer,
                               .inputs = {5, Arity::kMany},
                               .outputs = {2, Arity::kMany},
                               .attributes = kAdagradAttributes,
                               .infer = infer_three,
                               .cost = cost_adagrad};
extern const OpDef kAdam = {.name = "Adam",
                            .kind = OpKind::kOptimizer,
                            .inputs = {6, Arity::kMany},
                            .outputs = {3, Arity::kMany},
                            .attributes = kAdamAttributes,
                            .infer = infer_four,
                            .cost = cost_adam};

extern const OpDef kAdamW = {.name = "AdamW",
                             .kind = OpKind::kOptimizer,
                             .inputs = {6, Arity::kMany},
                             .outputs = {3, Arity::kMany},
                             .attributes = kAdamWAttributes,
                             .infer = infer_four,
                             .cost = cost_adam};
extern const OpDef kRmsProp = {.name = "RmsProp",
                               .kind = OpKind::kOptimizer,
                               .inputs = {6, Arity::kMany},
                               .outputs = {3, Arity::kMany},
                               .attributes = kRmsPropAttributes,
                               .infer = infer_four,
                               .cost = cost_adam};
extern const OpDef kLars = {.name = "Lars",
                            .kind = OpKind::kOptimizer,
                            .inputs = {5, Arity::kMany},
                            .outputs = {2, Arity::kMany},
                            .attributes = kLarsAttributes,
                            .infer = infer_three,
                            .cost = cost_lars};

extern const OpDef kLion = {.name = "Lion",
                            .kind = OpKind::kOptimizer,
                            .inputs = {5, Arity::kMany},
                            .outputs = {2, Arity::kMany},
                            .attributes = kLionAttributes,
                            .infer = infer_three,
                            .cost = cost_lion};
extern const OpDef kLamb = {.name = "Lamb",
                            .kind = OpKind::kOptimizer,
                            .inputs = {6, Arity::kMany},
                            .outputs = {3, Arity::kMany},
                            .attributes = kAdamWAttributes,
                            .infer = infer_four,
                            .cost = cost_lamb};
extern const OpDef kMovingAverage = {.name = "MovingAverage",
                                     .kind = OpKind::kOptimizer,
                                     .inputs = {4, Arity::kMany},
                                     .outputs = {1, Arity::kMany},
                                     .infer = infer_two,
                                     .cost = cost_moving_average};

}  // namespace trainyard::ops
