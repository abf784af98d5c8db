// Cast: the same values as elements of type `to`. CastLike: of the type of a second tensor.
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/layout/dtype_code.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kCastAttributes[] = {
    {"round_mode", AttrKind::kText}, {"saturate", AttrKind::kInt}, {"to", AttrKind::kInt, true}};
constexpr AttrSpec kCastLikeAttributes[] = {{"round_mode", AttrKind::kText},
                                            {"saturate", AttrKind::kInt}};

NarrowRule narrow_rule(const NodeView& node) {
  NarrowRule rule;
  rule.saturate = node.attr_int("saturate", 1) != 0;
  const std::string round = node.attr_text("round_mode", "up");
  TY_REQUIRE(round == "up" || round == "down" || round == "nearest",
             "round_mode '{}' is not one of up, down, nearest", round);
  if (round == "down") rule.round = NarrowRule::Round::kDown;
  if (round == "nearest") rule.round = NarrowRule::Round::kNearest;
  return rule;
}

std::vector<TensorType> infer_cast(const NodeView& node) {
  (void)narrow_rule(node);  // refuses what it does not know
  return {{dtype_from_code(node.attr_int("to", 0)), node.input_shape(0)}};
}

std::vector<TensorType> infer_cast_like(const NodeView& node) {
  (void)narrow_rule(node);
  return {{node.input_type(1).dtype, node.input_shape(0)}};
}

// The second tensor of CastLike is not read.
Cost cost_cast(const NodeView& node) {
  return {.bytes_read = node.input_type(0).num_bytes(),
          .bytes_written = node.output_type(0).num_bytes()};
}

// To the type that is there already: nothing changes.
Movement movement_cast(const NodeView& node) {
  return node.input_type(0).dtype == node.output_type(0).dtype ? Movement::kView
                                                               : Movement::kComputed;
}

Routine routine_cast(const NodeView& node) {
  return [rule = narrow_rule(node)](Views inputs, Views outputs) {
    cast_elements(inputs[0], outputs[0], rule);
  };
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
                            .gradient = gradient_cast,
                            .saves = SavedTensors::kNothing,
                            .movement = movement_cast};
extern const OpDef kCastLike = {.name = "CastLike",
                                .kind = OpKind::kElementwise,
                                .inputs = {2, 2},
                                .attributes = kCastLikeAttributes,
                                .infer = infer_cast_like,
                                .cost = cost_cast,
                                .routine = routine_cast,
                                .gradient = gradient_cast,
                                .movement = movement_cast};

}  // namespace trainyard::ops
