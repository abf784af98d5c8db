// LpNormalization: y = x / (sum of |x|^p along `axis`)^(1/p), p being 1 or 2.
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kLpNormalizationAttributes[] = {{"axis", AttrKind::kInt}, {"p", AttrKind::kInt}};

std::vector<TensorType> infer_lp_normalization(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  normalize_axis(node.attr_int("axis", -1), x.shape.rank(), node.op());
  const int64_t p = node.attr_int("p", 2);
  TY_REQUIRE(p == 1 || p == 2, "p is {}, expected 1 or 2", p);
  return {x};
}

// Per element: a square or absolute value, an addition and a division.
Cost cost_lp_normalization(const NodeView& node) {
  return elementwise_cost(node, 3);
}

// With n the norm and n' its slope (y for p = 2, the sign of x for p = 1):
// dx = (dy - n' * sum(dy * y)) / n.
std::vector<ValueId> gradient_lp_normalization(GradContext& grad) {
  const bool squares = grad.node().attr_int("p", 2) == 2;
  const std::vector<int64_t> axes = {grad.node().attr_int("axis", -1)};
  const ValueId norm = grad.add(squares ? "ReduceL2" : "ReduceL1", {grad.x(0)},
                                {{"axes", axes}, {"keepdims", int64_t{1}}});
  const ValueId along =
      grad.add("ReduceSum", {grad.add("Mul", {grad.dy(), grad.y()}), grad.ints(axes)},
               {{"keepdims", int64_t{1}}});
  const ValueId slope = squares ? grad.y() : grad.add("Sign", {grad.x(0)});
  const ValueId rest = grad.add("Sub", {grad.dy(), grad.add("Mul", {slope, along})});
  return {grad.add("Div", {rest, norm})};
}

}  // namespace

extern const OpDef kLpNormalization = {.name = "LpNormalization",
                                       .kind = OpKind::kNormalization,
                                       .attributes = kLpNormalizationAttributes,
                                       .infer = infer_lp_normalization,
                                       .cost = cost_lp_normalization,
                                       .gradient = gradient_lp_normalization};

}  // namespace trainyard::ops
