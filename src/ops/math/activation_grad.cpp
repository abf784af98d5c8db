// Gradients of activations from y, so that x need not be kept. ReluGrad and ClipGrad: dx = dy where
// low < y < high, else 0; SigmoidGrad: dx = dy * y * (1 - y); TanhGrad: dx = dy * (1 - y * y).
// Inputs: y, dy and, for ClipGrad, low and high (either bound may be absent). GeluGrad alone is
// from x: dx = dy * Gelu'(x).
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

std::vector<TensorType> infer_activation_grad(const NodeView& node) {
  TY_REQUIRE(node.input_type(0) == node.input_type(1), "y is {} but dy is {}",
             node.input_type(0).to_string(), node.input_type(1).to_string());
  require_floats(node, {2, 3});
  require_one_number(node, 2, "the lower bound");
  require_one_number(node, 3, "the upper bound");
  return {node.input_type(1)};
}

Cost cost_activation_grad(const NodeView& node) {
  const bool clamps = node.op() == "ReluGrad" || node.op() == "ClipGrad";
  if (!clamps) return elementwise_cost(node, 3);
  return elementwise_cost(node, node.op() == "ReluGrad" ? 1 : 2);
}

constexpr AttrSpec kGeluGradAttributes[] = {{"approximate", AttrKind::kText}};

constexpr OpDef activation_gradient(std::string_view name, int most_inputs,
                                    std::span<const AttrSpec> attributes = {}) {
  return {.name = name,
          .kind = OpKind::kActivation,
          .inputs = {2, most_inputs},
          .attributes = attributes,
          .infer = infer_activation_grad,
          .cost = cost_activation_grad};
}

}  // namespace

extern const OpDef kSigmoidGrad = activation_gradient("SigmoidGrad", 2);
extern const OpDef kGeluGrad = activation_gradient("GeluGrad", 2, kGeluGradAttributes);
extern const OpDef kTanhGrad = activation_gradient("TanhGrad", 2);
extern const OpDef kReluGrad = activation_gradient("ReluGrad", 2);
extern const OpDef kClipGrad = activation_gradient("ClipGrad", 4);

}  // namespace trainyard::ops
