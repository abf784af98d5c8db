// DropoutTraining: y = x * m / (1 - ratio), where m is 0 with probability `ratio` and otherwise 1.
//
// m depends on (seed, step, first + index) alone, so it is drawn again rather than kept for
// backward: the operator is linear and is its own gradient. Inputs: x, step (an integer scalar).
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kDropoutTrainingAttributes[] = {{"ratio", AttrKind::kFloat, true},
                                                   {"seed", AttrKind::kInt, true},
                                                   // What lies before element 0 of x, of a whole
                                                   // that workers share.
                                                   {"first", AttrKind::kInt}};

std::vector<TensorType> infer_dropout_training(const NodeView& node) {
  const float ratio = node.attr_float("ratio", 0);
  TY_REQUIRE(0 <= ratio && ratio < 1, "ratio {} is outside [0, 1)", ratio);
  TY_REQUIRE(node.input_type(1) == (TensorType{DType::kI64, {}}), "step is {}, expected i64[]",
             node.input_type(1).to_string());
  return {node.input_type(0)};
}

// Draw, compare, scale.
Cost cost_dropout_training(const NodeView& node) {
  return elementwise_cost(node, 3);
}

std::vector<ValueId> gradient_dropout_training(GradContext& grad) {
  return {grad.add("DropoutTraining", {grad.dy(), grad.x(1)}, grad.attributes()), kNoValue};
}

}  // namespace

extern const OpDef kDropoutTraining = {.name = "DropoutTraining",
                                       .kind = OpKind::kElementwise,
                                       .inputs = {2, 2},
                                       .attributes = kDropoutTrainingAttributes,
                                       .infer = infer_dropout_training,
                                       .cost = cost_dropout_training,
                                       .gradient = gradient_dropout_training};

}  // namespace trainyard::ops
