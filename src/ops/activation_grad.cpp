// ReluGrad and ClipGrad: dx = dy where low < y < high, else 0; from y, so that x need not be kept.
// Inputs: y, dy and, for ClipGrad, low and high (either bound may be absent).
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

std::vector<TensorType> infer(const NodeView& node) {
  TY_REQUIRE(node.input_type(0) == node.input_type(1), "y is {} but dy is {}",
             node.input_type(0).to_string(), node.input_type(1).to_string());
  return {node.input_type(1)};
}

Cost cost(const NodeView& node) {
  return elementwise_cost(node, node.op() == "ReluGrad" ? 1 : 2);
}

constexpr OpDef clamp_gradient(std::string_view name, int most_inputs) {
  return {.name = name,
          .kind = OpKind::kActivation,
          .inputs = {2, most_inputs},
          .infer = infer,
          .cost = cost};
}

}  // namespace

extern const OpDef kReluGrad = clamp_gradient("ReluGrad", 2);
extern const OpDef kClipGrad = clamp_gradient("ClipGrad", 4);

}  // namespace trainyard::ops
