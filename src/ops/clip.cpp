// Clip: y = min(max(x, low), high); either bound may be absent.
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

std::vector<TensorType> infer(const NodeView& node) {
  for (size_t i = 1; i < 3; ++i) {
    if (!node.has_input(i)) continue;
    TY_REQUIRE(node.input_shape(i).num_elements() == 1, "bound {} has shape {}, expected a scalar",
               i, node.input_shape(i).to_string());
  }
  return {node.input_type(0)};
}

Cost cost(const NodeView& node) {
  return elementwise_cost(node, 2);
}

std::vector<ValueId> gradient(GradContext& grad) {
  std::vector<ValueId> inputs = {grad.y(), grad.dy()};
  for (size_t i = 1; i < grad.node().num_inputs(); ++i) inputs.push_back(grad.x(i));
  return {grad.add("ClipGrad", std::move(inputs)), kNoValue, kNoValue};
}

}  // namespace

extern const OpDef kClip = {.name = "Clip",
                            .kind = OpKind::kActivation,
                            .inputs = {1, 3},
                            .infer = infer,
                            .cost = cost,
                            .gradient = gradient};

}  // namespace trainyard::ops
