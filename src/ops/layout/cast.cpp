// Cast: the same values as elements of type `to`. CastLike: of the type of a second tensor.
#include "ops/gradient.h"
#include "ops/layout/dtype_code.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kCastAttributes[] = {{"to", AttrKind::kInt, true}};

std::vector<TensorType> infer_cast(const NodeView& node) {
  return {{dtype_from_code(node.attr_int("to", 0)), node.input_shape(0)}};
}

std::vector<TensorType> infer_cast_like(const NodeView& node) {
  return {{node.input_type(1).dtype, node.input_shape(0)}};
}

// The second tensor of CastLike is not read.
Cost cost_cast(const NodeView& node) {
  return {.bytes_read = node.input_type(0).num_bytes(),
          .bytes_written = node.output_type(0).num_bytes()};
}

Routine routine_cast(const NodeView&) {
  return [](Views inputs, Views outputs) { cast_elements(inputs[0], outputs[0]); };
}

std::vector<ValueId> gradient_cast(GradContext& grad) {
  std::vector<ValueId> dx(grad.node().num_inputs(), kNoValue);
  if (grad.wants(0)) dx[0] = grad.add("CastLike", {grad.dy(), grad.x(0)});
  return dx;
}

}  // namespace

extern const OpDef kCast = {.name = "Cast",
                            .kind = OpKind::kElementwise,
                            .attributes = kCastAttributes,
                            .infer = infer_cast,
                            .cost = cost_cast,
                            .routine = routine_cast,
                            .gradient = gradient_cast};
extern const OpDef kCastLike = {.name = "CastLike",
                                .kind = OpKind::kElementwise,
                                .inputs = {2, 2},
                                .infer = infer_cast_like,
                                .cost = cost_cast,
                                .routine = routine_cast,
                                .gradient = gradient_cast};

}  // namespace trainyard::ops
