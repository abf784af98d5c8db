// Det: determinants of square matrices, over any batch dimensions.
#include "base/checked.h"
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

std::vector<TensorType> infer_det(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  TY_REQUIRE(x.shape.rank() >= 2 && x.shape.dim(-1) == x.shape.dim(-2),
             "input has shape {}, expected square matrices", x.shape.to_string());
  return {{x.dtype, Shape(x.shape.dims().first(static_cast<size_t>(x.shape.rank() - 2)))}};
}

// Gaussian elimination: n^3 / 3 MACs a matrix.
Cost cost_det(const NodeView& node) {
  const int64_t n = node.input_shape(0).dim(-1);
  Cost cost = traffic(node);
  cost.macs = checked_product({node.output_shape(0).num_elements(), n, n, n}) / 3;
  cost.flops = 2 * cost.macs;
  return cost;
}

}  // namespace

extern const OpDef kDet = {
    .name = "Det", .kind = OpKind::kLinear, .infer = infer_det, .cost = cost_det};

}  // namespace trainyard::ops
