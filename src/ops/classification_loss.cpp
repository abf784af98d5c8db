// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: the loss of scores (N x C x …) against
// class indices (N x …), each class with a weight, some targets ignored. Output 1 of the latter:
// log-softmax.
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kAttributes[] = {{"ignore_index", AttrKind::kInt},
                                    {"reduction", AttrKind::kText}};

std::vector<TensorType> infer(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const TensorType& target = node.input_type(1);
  TY_REQUIRE(x.shape.rank() >= 2, "scores have shape {}, expected N x C x …", x.shape.to_string());
  std::vector<int64_t> dims = x.shape.vector();
  dims.erase(dims.begin() + 1);
  TY_REQUIRE(target.shape == Shape(dims), "targets have shape {}, expected {} for scores of {}",
             target.shape.to_string(), Shape(dims).to_string(), x.shape.to_string());
  TY_REQUIRE(target.dtype == DType::kI32 || target.dtype == DType::kI64,
             "targets are {}, expected i32 or i64", dtype_name(target.dtype));
  if (node.has_input(2)) {
    TY_REQUIRE(node.input_type(2) == (TensorType{x.dtype, {x.shape[1]}}),
               "weights are {}, expected {}", node.input_type(2).to_string(),
               TensorType{x.dtype, {x.shape[1]}}.to_string());
  }
  const std::string reduction = node.attr_text("reduction", "mean");
  TY_REQUIRE(reduction == "none" || reduction == "mean" || reduction == "sum",
             "reduction '{}' is not one of none, mean, sum", reduction);
  return {{x.dtype, reduction == "none" ? target.shape : Shape{}}, x};
}

// Per target: a multiplication by its weight, and two additions for loss and weight.
Cost cost(const NodeView& node) {
  Cost cost = traffic(node);
  cost.flops = 3 * node.input_shape(1).num_elements();
  return cost;
}

// Per score: compare, subtract, exp, add and subtract; then as above.
Cost cost_softmax(const NodeView& node) {
  Cost total = cost(node);
  total.flops += 5 * node.input_shape(0).num_elements();
  return total;
}

}  // namespace

extern const OpDef kNegativeLogLikelihoodLoss = {.name = "NegativeLogLikelihoodLoss",
                                                 .kind = OpKind::kLoss,
                                                 .inputs = {2, 3},
                                                 .attributes = kAttributes,
                                                 .infer = infer,
                                                 .cost = cost};
extern const OpDef kSoftmaxCrossEntropyLoss = {.name = "SoftmaxCrossEntropyLoss",
                                               .kind = OpKind::kLoss,
                                               .inputs = {2, 3},
                                               .outputs = {1, 2},
                                               .attributes = kAttributes,
                                               .infer = infer,
                                               .cost = cost_softmax};

}  // namespace trainyard::ops
