// TopK: the k largest (or smallest) elements along `axis` and where they are. Of equal elements the
// one with the lower index comes first.
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kTopKAttributes[] = {
    {"axis", AttrKind::kInt}, {"largest", AttrKind::kInt}, {"sorted", AttrKind::kInt}};

std::vector<TensorType> infer_top_k(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const int64_t axis = normalize_axis(node.attr_int("axis", -1), x.shape.rank(), node.op());
  TY_REQUIRE(node.input_type(1).dtype == DType::kI64 && node.input_shape(1).num_elements() == 1,
             "k is {}, expected one i64", node.input_type(1).to_string());
  Shape y = x.shape;
  y[axis] = Shape::kUnknown;
  if (const auto k = node.input_ints(1)) {
    y[axis] = k->front();
    TY_REQUIRE(y[axis] >= 0 && (y[axis] <= x.shape[axis] || x.shape[axis] == Shape::kUnknown),
               "k is {} but axis {} has {} elements", y[axis], axis, x.shape[axis]);
  }
  return {{x.dtype, y}, {DType::kI64, y}};
}

// One comparison per input element with the smallest of the k, and k insertions of log2(k)
// comparisons a line.
Cost cost_top_k(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  const int64_t axis = normalize_axis(node.attr_int("axis", -1), x.rank(), node.op());
  const int64_t kept = node.output_shape(0).num_elements();
  int64_t depth = 0;
  while ((int64_t{1} << depth) < node.output_shape(0)[axis]) ++depth;
  Cost cost = traffic(node);
  cost.flops = x.num_elements() + kept * depth;
  return cost;
}

// dy goes back to where the elements were; the positions are output 1.
std::vector<ValueId> gradient_top_k(GradContext& grad) {
  const int64_t axis = grad.node().attr_int("axis", -1);
  return {grad.add("ScatterElements", {grad.zeros(grad.x_shape(0)), grad.y(1), grad.dy()},
                   {{"axis", axis}}),
          kNoValue};
}

}  // namespace

extern const OpDef kTopK = {.name = "TopK",
                            .kind = OpKind::kReduction,
                            .inputs = {2, 2},
                            .outputs = {2, 2},
                            .attributes = kTopKAttributes,
                            .infer = infer_top_k,
                            .cost = cost_top_k,
                            .gradient = gradient_top_k};

}  // namespace trainyard::ops
