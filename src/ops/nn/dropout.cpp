// Dropout: at training time zeroes a share of the elements and scales the rest; otherwise y = x.
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kDropoutAttributes[] = {{"seed", AttrKind::kInt}};

std::vector<TensorType> infer_dropout(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  return {x, {DType::kBool, x.shape}};
}

// Where it does not drop; training has DropoutTraining.
std::vector<ValueId> gradient_dropout(GradContext& grad) {
  const bool may_drop = grad.node().has_input(2);
  const auto mode = may_drop ? grad.node().input_ints(2) : std::vector<int64_t>{0};
  TY_REQUIRE(mode && mode->front() == 0, "the gradient of a Dropout that drops is not defined");
  return {grad.dy(), kNoValue, kNoValue};
}

}  // namespace

// Inputs: x, ratio, training_mode. Outputs: y, mask.
extern const OpDef kDropout = {.name = "Dropout",
                               .kind = OpKind::kDataMovement,
                               .inputs = {1, 3},
                               .outputs = {1, 2},
                               .attributes = kDropoutAttributes,
                               .infer = infer_dropout,
                               .gradient = gradient_dropout};

}  // namespace trainyard::ops
