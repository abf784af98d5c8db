// Gemm: y = alpha * op(A) * op(B) + beta * C, where op transposes on request.
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kAttributes[] = {{"alpha", AttrKind::kFloat},
                                    {"beta", AttrKind::kFloat},
                                    {"transA", AttrKind::kInt},
                                    {"transB", AttrKind::kInt}};
constexpr ParamRole kRoles[] = {ParamRole::kWeight, ParamRole::kWeight, ParamRole::kBias};

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

std::vector<TensorType> infer(const NodeView& node) {
  const auto [m, k, n] = sizes(node);
  const Shape y{m, n};
  TY_REQUIRE(node.input_type(0).dtype == node.input_type(1).dtype, "operands are {} and {}",
             dtype_name(node.input_type(0).dtype), dtype_name(node.input_type(1).dtype));
  if (node.has_input(2)) {
    TY_REQUIRE(broadcast_shapes(node.input_shape(2), y) == y,
               "C of shape {} does not broadcast to {}", node.input_shape(2).to_string(),
               y.to_string());
  }
  return {{node.input_type(0).dtype, y}};
}

Cost cost(const NodeView& node) {
  Cost cost = traffic(node);
  const auto [m, k, n] = sizes(node);
  cost.macs = m * k * n;
  cost.flops = 2 * cost.macs + (node.has_input(2) ? m * n : 0);
  return cost;
}

}  // namespace

extern const OpDef kGemm = {.name = "Gemm",
                            .kind = OpKind::kLinear,
                            .inputs = {2, 3},
                            .attributes = kAttributes,
                            .roles = kRoles,
                            .infer = infer,
                            .cost = cost};

}  // namespace trainyard::ops
