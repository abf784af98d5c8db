// MeanVarianceNormalization: y = (x - mean) / (sqrt(var) + 1e-9) over `axes`.
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kAttributes[] = {{"axes", AttrKind::kInts}};

std::vector<TensorType> infer(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  for (const int64_t axis : node.attr_ints("axes", {0, 2, 3})) {
    normalize_axis(axis, x.shape.rank(), node.op());
  }
  return {x};
}

// Per element: one addition for the mean, three for the variance, then subtract and divide.
Cost cost(const NodeView& node) {
  return elementwise_cost(node, 6);
}

}  // namespace

extern const OpDef kMeanVarianceNormalization = {.name = "MeanVarianceNormalization",
                                                 .kind = OpKind::kNormalization,
                                                 .attributes = kAttributes,
                                                 .infer = infer,
                                                 .cost = cost};

}  // namespace trainyard::ops
