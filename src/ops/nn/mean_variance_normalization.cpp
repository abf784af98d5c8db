// MeanVarianceNormalization: y = (x - mean) / (sqrt(var) + 1e-9) over `axes`.
#include "base/error.h"
#include "ops/nn/standardize.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kMeanVarianceNormalizationAttributes[] = {{"axes", AttrKind::kInts}};

std::vector<TensorType> infer_mean_variance_normalization(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  for (const int64_t axis : node.attr_ints("axes", {0, 2, 3})) {
    normalize_axis(axis, x.shape.rank(), node.op());
  }
  return {x};
}

// Per element: one addition for the mean, three for the variance, then subtract and divide.
Cost cost_mean_variance_normalization(const NodeView& node) {
  return elementwise_cost(node, 6);
}

// As if the small number stood under the root: they differ where the deviation is as small.
std::vector<ValueId> gradient_mean_variance_normalization(GradContext& grad) {
  constexpr double kUnderRoot = 1e-18;
  const Standardized s =
      standardize(grad, grad.x(0), grad.node().attr_ints("axes", {0, 2, 3}), kUnderRoot);
  return {standardize_gradient(grad, s, grad.dy())};
}

}  // namespace

extern const OpDef kMeanVarianceNormalization = {.name = "MeanVarianceNormalization",
                                                 .kind = OpKind::kNormalization,
                                                 .attributes = kMeanVarianceNormalizationAttributes,
                                                 .infer = infer_mean_variance_normalization,
                                                 .cost = cost_mean_variance_normalization,
                                                 .gradient = gradient_mean_variance_normalization};

}  // namespace trainyard::ops
