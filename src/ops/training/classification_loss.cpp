// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: the loss of scores (N x C x …) against
// class indices (N x …), each class with a weight, some targets ignored. Output 1 of the latter:
// log-softmax.
//
// …LossGrad: dx from (x, targets, dloss, weights?), with the attributes of the loss.
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kClassificationLossAttributes[] = {{"ignore_index", AttrKind::kInt},
                                                      {"reduction", AttrKind::kText}};

constexpr size_t kWeights = 2;
constexpr size_t kLossGradient = 2;  // and the weights after it

// The type of the loss; `weights` is their position.
TensorType check_operands(const NodeView& node, size_t weights) {
  const TensorType& x = node.input_type(0);
  const TensorType& target = node.input_type(1);
  TY_REQUIRE(x.shape.rank() >= 2, "scores have shape {}, expected N x C x …", x.shape.to_string());
  std::vector<int64_t> dims = x.shape.vector();
  dims.erase(dims.begin() + 1);
  TY_REQUIRE(target.shape == Shape(dims), "targets have shape {}, expected {} for scores of {}",
             target.shape.to_string(), Shape(dims).to_string(), x.shape.to_string());
  TY_REQUIRE(target.dtype == DType::kI32 || target.dtype == DType::kI64,
             "targets are {}, expected i32 or i64", dtype_name(target.dtype));
  if (node.has_input(weights)) {
    TY_REQUIRE(node.input_type(weights) == (TensorType{x.dtype, {x.shape[1]}}),
               "weights are {}, expected {}", node.input_type(weights).to_string(),
               TensorType{x.dtype, {x.shape[1]}}.to_string());
  }
  const std::string reduction = node.attr_text("reduction", "mean");
  TY_REQUIRE(reduction == "none" || reduction == "mean" || reduction == "sum",
             "reduction '{}' is not one of none, mean, sum", reduction);
  return {x.dtype, reduction == "none" ? target.shape : Shape{}};
}

std::vector<TensorType> infer_classification_loss(const NodeView& node) {
  return {check_operands(node, kWeights), node.input_type(0)};
}

std::vector<TensorType> infer_grad_classification_loss(const NodeView& node) {
  const TensorType loss = check_operands(node, kLossGradient + 1);
  TY_REQUIRE(node.input_type(kLossGradient) == loss, "dloss is {}, expected {}",
             node.input_type(kLossGradient).to_string(), loss.to_string());
  return {node.input_type(0)};
}

// Per target: a multiplication by its weight, and two additions for loss and weight; as many for
// its gradient.
Cost cost_classification_loss(const NodeView& node) {
  Cost cost = traffic(node);
  cost.flops = 3 * node.input_shape(1).num_elements();
  return cost;
}

// Per score: compare, subtract, exp, add and subtract (or multiply by a share); then as above.
Cost cost_softmax_loss(const NodeView& node) {
  Cost total = cost_classification_loss(node);
  total.flops += 5 * node.input_shape(0).num_elements();
  return total;
}

ValueId loss_gradient(GradContext& grad) {
  std::vector<ValueId> inputs = {grad.x(0), grad.x(1), grad.dy()};
  if (grad.node().has_input(kWeights)) inputs.push_back(grad.x(kWeights));
  return grad.add(grad.node().op() + "Grad", std::move(inputs), grad.attributes());
}

std::vector<ValueId> gradient_classification_loss(GradContext& grad) {
  TY_REQUIRE(!grad.wants(kWeights), "the weights of the classes have no gradient");
  return {loss_gradient(grad), kNoValue, kNoValue};
}

// Output 1, the log-softmax, may be used too: dx = dy - exp(y) * sum(dy).
std::vector<ValueId> gradient_cross_entropy(GradContext& grad) {
  TY_REQUIRE(!grad.wants(kWeights), "the weights of the classes have no gradient");
  std::vector<ValueId> parts;
  if (grad.dy(0).valid()) parts.push_back(loss_gradient(grad));
  if (grad.node().num_outputs() > 1 && grad.dy(1).valid()) {
    const int64_t axis = 1;
    const ValueId sum =
        grad.add("ReduceSum", {grad.dy(1), grad.ints({&axis, 1})}, {{"keepdims", int64_t{1}}});
    const ValueId share = grad.add("Mul", {grad.add("Exp", {grad.y(1)}), sum});
    parts.push_back(grad.add("Sub", {grad.dy(1), share}));
  }
  return {parts.size() == 2 ? grad.add("Add", parts) : parts[0], kNoValue, kNoValue};
}

}  // namespace

extern const OpDef kNegativeLogLikelihoodLoss = {.name = "NegativeLogLikelihoodLoss",
                                                 .kind = OpKind::kLoss,
                                                 .inputs = {2, 3},
                                                 .attributes = kClassificationLossAttributes,
                                                 .infer = infer_classification_loss,
                                                 .cost = cost_classification_loss,
                                                 .gradient = gradient_classification_loss};
extern const OpDef kNegativeLogLikelihoodLossGrad = {.name = "NegativeLogLikelihoodLossGrad",
                                                     .kind = OpKind::kLoss,
                                                     .inputs = {3, 4},
                                                     .attributes = kClassificationLossAttributes,
                                                     .infer = infer_grad_classification_loss,
                                                     .cost = cost_classification_loss};
extern const OpDef kSoftmaxCrossEntropyLoss = {.name = "SoftmaxCrossEntropyLoss",
                                               .kind = OpKind::kLoss,
                                               .inputs = {2, 3},
                                               .outputs = {1, 2},
                                               .attributes = kClassificationLossAttributes,
                                               .infer = infer_classification_loss,
                                               .cost = cost_softmax_loss,
                                               .gradient = gradient_cross_entropy};
extern const OpDef kSoftmaxCrossEntropyLossGrad = {.name = "SoftmaxCrossEntropyLossGrad",
                                                   .kind = OpKind::kLoss,
                                                   .inputs = {3, 4},
                                                   .attributes = kClassificationLossAttributes,
                                                   .infer = infer_grad_classification_loss,
                                                   .cost = cost_softmax_loss};

}  // namespace trainyard::ops
