// Pad: a border of constants, of reflected or of repeated elements around the input; negative pads
// crop.
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kAttributes[] = {{"mode", AttrKind::kText}};

std::vector<TensorType> infer(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const std::string mode = node.attr_text("mode", "constant");
  TY_REQUIRE(mode == "constant" || mode == "reflect" || mode == "edge",
             "mode '{}' is not one of constant, reflect, edge", mode);
  const auto pads = node.input_ints(1);
  TensorType y = x;
  for (int64_t i = 0; i < x.shape.rank(); ++i) {
    if (!pads) {
      y.shape[i] = Shape::kUnknown;
      continue;
    }
    TY_REQUIRE(static_cast<int64_t>(pads->size()) == 2 * x.shape.rank(),
               "{} pads for an input of rank {}, expected two per dimension", pads->size(),
               x.shape.rank());
    if (x.shape[i] == Shape::kUnknown) continue;
    const bool overflow =
        __builtin_add_overflow(x.shape[i], (*pads)[static_cast<size_t>(i)], &y.shape[i]) ||
        __builtin_add_overflow(y.shape[i], (*pads)[static_cast<size_t>(i + x.shape.rank())],
                               &y.shape[i]);
    TY_REQUIRE(!overflow && y.shape[i] >= 0, "dimension {} of shape {} cannot be padded like that",
               i, x.shape.to_string());
  }
  return {y};
}

}  // namespace

// Inputs: data, pads (all begins, then all ends), constant_value.
extern const OpDef kPad = {.name = "Pad",
                           .kind = OpKind::kDataMovement,
                           .inputs = {2, 3},
                           .attributes = kAttributes,
                           .infer = infer};

}  // namespace trainyard::ops
