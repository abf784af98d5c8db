// Dropout: at training time zeroes a share of the elements and scales the rest; otherwise y = x.
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kAttributes[] = {{"seed", AttrKind::kInt}};

std::vector<TensorType> infer(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  return {x, {DType::kBool, x.shape}};
}

}  // namespace

// Inputs: x, ratio, training_mode. Outputs: y, mask.
extern const OpDef kDropout = {.name = "Dropout",
                               .kind = OpKind::kDataMovement,
                               .inputs = {1, 3},
                               .outputs = {1, 2},
                               .attributes = kAttributes,
                               .infer = infer};

}  // namespace trainyard::ops
