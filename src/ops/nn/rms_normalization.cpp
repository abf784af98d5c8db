// RMSNormalization: y = scale * x / sqrt(mean(x * x) + epsilon) over the dimensions from `axis` on
// (Zhang and Sennrich 2019).
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kRmsAttributes[] = {
    {"axis", AttrKind::kInt}, {"epsilon", AttrKind::kFloat}, {"stash_type", AttrKind::kInt}};
constexpr ParamRole kRmsRoles[] = {ParamRole::kNone, ParamRole::kWeight};

std::vector<TensorType> infer_rms(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  (void)normalize_axis(node.attr_int("axis", -1), x.shape.rank(), node.op());
  TY_REQUIRE(is_float(x.dtype), "it is not defined for elements of type {}", dtype_name(x.dtype));
  TY_REQUIRE(broadcast_shapes(node.input_shape(1), x.shape) == x.shape,
             "the scale of shape {} does not broadcast to {}", node.input_shape(1).to_string(),
             x.shape.to_string());
  return {{node.input_type(1).dtype, x.shape}};
}

// Square and add, multiply by the root, scale.
Cost cost_rms(const NodeView& node) {
  return elementwise_cost(node, 4);
}

// With r = 1 / sqrt(mean(x^2) + epsilon), n = x r and g = dy * scale: dx = r (g - n mean(g n)).
std::vector<ValueId> gradient_rms(GradContext& grad) {
  const Shape x = grad.x_shape(0);
  std::vector<int64_t> axes;
  for (int64_t i = normalize_axis(grad.node().attr_int("axis", -1), x.rank(), grad.node().op());
       i < x.rank(); ++i) {
    axes.push_back(i);
  }
  const auto mean = [&](ValueId value) { return grad.mean_over(value, axes); };
  const ValueId square = mean(grad.add("Mul", {grad.x(0), grad.x(0)}));
  const double epsilon = double{grad.node().attr_float("epsilon", 1e-5F)};
  const ValueId root = grad.add("Sqrt", {grad.add("Add", {square, grad.scalar(epsilon)})});
  const ValueId n = grad.add("Div", {grad.x(0), root});
  std::vector<ValueId> dx(grad.node().num_inputs(), kNoValue);
  if (grad.wants(0)) {
    const ValueId g = grad.add("Mul", {grad.dy(), grad.x(1)});
    const ValueId along = grad.add("Mul", {n, mean(grad.add("Mul", {g, n}))});
    dx[0] = grad.add("Div", {grad.add("Sub", {g, along}), root});
  }
  if (grad.wants(1)) dx[1] = grad.sum_to(grad.add("Mul", {grad.dy(), n}), grad.x_shape(1));
  return dx;
}

}  // namespace

// Inputs: x, scale.
extern const OpDef kRMSNormalization = {.name = "RMSNormalization",
                                        .kind = OpKind::kNormalization,
                                        .inputs = {2, 2},
                                        .attributes = kRmsAttributes,
                                        .roles = kRmsRoles,
                                        .infer = infer_rms,
                                        .cost = cost_rms,
                                        .gradient = gradient_rms};

}  // namespace trainyard::ops
