// Reorder: the same values in another memory layout, which the compiler keeps beside the graph. The
// compiler makes it; no file has it.
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

std::vector<TensorType> infer_reorder(const NodeView& node) {
  return {node.input_type(0)};
}

}  // namespace

extern const OpDef kReorder = {
    .name = "Reorder", .kind = OpKind::kDataMovement, .infer = infer_reorder};

}  // namespace trainyard::ops
