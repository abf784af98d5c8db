// Gemm: y = alpha * op(A) * op(B) + beta * C, where op transposes on request.
#include "base/checked.h"
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kGemmAttributes[] = {{"alpha", AttrKind::kFloat},
                                        {"beta", AttrKind::kFloat},
                                        {"transA", AttrKind::kInt},
                                        {"transB", AttrKind::kInt}};
constexpr ParamRole kGemmRoles[] = {ParamRole::kWeight, ParamRole::kWeight, ParamRole::kBias};

// {M, K, N}
std::array<int64_t, 3> sizes(const NodeView& node) {
  const Shape& a = node.input_shape(0);
  const Shape& b = node.input_shape(1);
  TY_REQUIRE(a.rank() == 2 && b.rank() == 2,
             "operands have shapes {} and {}, expected two matrices", a.to_string(), b.to_string());
  const int64_t at = node.attr_int("transA", 0) != 0 ? 1 : 0;
  const int64_t bt = node.attr_int("transB", 0) != 0 ? 1 : 0;
  TY_REQUIRE(a[1 - at] == b[bt] || a[1 - at] == Shape::kUnknown || b[bt] == Shape::kUnknown,
             "inner sizes {} and {} differ (operands {} and {}, transA={}, transB={})", a[1 - at],
             b[bt], a.to_string(), b.to_string(), at, bt);
  return {a[at], a[1 - at], b[1 - bt]};
}

std::vector<TensorType> infer_gemm(const NodeView& node) {
  const auto [m, k, n] = sizes(node);
  const Shape y{m, n};
  TY_REQUIRE(node.input_type(0).dtype == node.input_type(1).dtype, "operands are {} and {}",
             dtype_name(node.input_type(0).dtype), dtype_name(node.input_type(1).dtype));
  require_alike(node, {2});
  if (node.has_input(2)) {
    TY_REQUIRE(broadcast_shapes(node.input_shape(2), y) == y,
               "C of shape {} does not broadcast to {}", node.input_shape(2).to_string(),
               y.to_string());
  }
  return {{node.input_type(0).dtype, y}};
}

Cost cost_gemm(const NodeView& node) {
  Cost cost = traffic(node);
  const auto [m, k, n] = sizes(node);
  cost.macs = checked_product({m, k, n});
  cost.flops = 2 * cost.macs + (node.has_input(2) ? m * n : 0);
  return cost;
}

// With y = a op(A) op(B): d op(A) = a dy op(B)', d op(B) = a op(A)' dy; a transposed operand swaps
// the factors.
std::vector<ValueId> gradient_gemm(GradContext& grad) {
  const bool at = grad.node().attr_int("transA", 0) != 0;
  const bool bt = grad.node().attr_int("transB", 0) != 0;
  const float alpha = grad.node().attr_float("alpha", 1.0F);
  const auto product = [&](ValueId left, bool left_t, ValueId right, bool right_t) {
    return grad.add("Gemm", {left, right},
                    {{"alpha", alpha}, {"transA", int64_t{left_t}}, {"transB", int64_t{right_t}}});
  };
  std::vector<ValueId> dx(grad.node().num_inputs(), kNoValue);
  if (grad.wants(0)) {
    dx[0] =
        at ? product(grad.x(1), bt, grad.dy(), true) : product(grad.dy(), false, grad.x(1), !bt);
  }
  if (grad.wants(1)) {
    dx[1] =
        bt ? product(grad.dy(), true, grad.x(0), at) : product(grad.x(0), !at, grad.dy(), false);
  }
  if (grad.wants(2)) {
    const float beta = grad.node().attr_float("beta", 1.0F);
    dx[2] = grad.sum_to(grad.dy(), grad.x_shape(2));
    if (beta != 1.0F) dx[2] = grad.add("Mul", {dx[2], grad.scalar(beta)});
  }
  return dx;
}

}  // namespace

extern const OpDef kGemm = {.name = "Gemm",
                            .kind = OpKind::kLinear,
                            .inputs = {2, 3},
                            .attributes = kGemmAttributes,
                            .roles = kGemmRoles,
                            .infer = infer_gemm,
                            .cost = cost_gemm,
                            .gradient = gradient_gemm,
                            .saves = SavedTensors::kOtherFactor,
                            .with_activation = "FusedGemm",
                            .int8 = Int8Form::kLayer};

}  // namespace trainyard::ops
