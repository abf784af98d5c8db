// LpNormalization: y = x / (sum of |x|^p along `axis`)^(1/p), p being 1 or 2.
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kAttributes[] = {{"axis", AttrKind::kInt}, {"p", AttrKind::kInt}};

std::vector<TensorType> infer(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  normalize_axis(node.attr_int("axis", -1), x.shape.rank(), node.op());
  const int64_t p = node.attr_int("p", 2);
  TY_REQUIRE(p == 1 || p == 2, "p is {}, expected 1 or 2", p);
  return {x};
}

// Per element: a square or absolute value, an addition and a division.
Cost cost(const NodeView& node) {
  return elementwise_cost(node, 3);
}

}  // namespace

extern const OpDef kLpNormalization = {.name = "LpNormalization",
                                       .kind = OpKind::kNormalization,
                                       .attributes = kAttributes,
                                       .infer = infer,
                                       .cost = cost};

}  // namespace trainyard::ops
