// ReluGrad: dx = dy where y > 0, else 0. From y, so that x need not be kept.
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
  return elementwise_cost(node, 1);
}

}  // namespace

extern const OpDef kReluGrad = {.name = "ReluGrad",
                                .kind = OpKind::kActivation,
                                .inputs = {2, 2},
                                .infer = infer,
                                .cost = cost};

}  // namespace trainyard::ops
