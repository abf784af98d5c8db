// ClipGrad: dx = dy where low < y < high, else 0; from y, so that x need not be kept.
// Inputs: y, dy, low, high (either bound may be absent).
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
  return elementwise_cost(node, 2);
}

}  // namespace

extern const OpDef kClipGrad = {.name = "ClipGrad",
                                .kind = OpKind::kActivation,
                                .inputs = {2, 4},
                                .infer = infer,
                                .cost = cost};

}  // namespace trainyard::ops
