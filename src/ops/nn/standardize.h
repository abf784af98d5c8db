// What the gradients of normalizations share.
#pragma once

#include <vector>

#include "ops/gradient.h"

namespace trainyard::ops {

// x taken to mean 0 and variance 1 over `axes`.
struct Standardized {
  std::vector<int64_t> axes;
  ValueId value;    // (x - mean) * inverse
  ValueId inverse;  // 1 / sqrt(variance + epsilon)
};

inline Standardized standardize(GradContext& grad, ValueId x, std::vector<int64_t> axes,
                                double epsilon) {
  const ValueId centered = grad.add("Sub", {x, grad.mean_over(x, axes)});
  const ValueId variance = grad.mean_over(grad.add("Mul", {centered, centered}), axes);
  const ValueId root = grad.add("Sqrt", {grad.add("Add", {variance, grad.scalar(epsilon)})});
  const ValueId inverse = grad.add("Reciprocal", {root});
  return {std::move(axes), grad.add("Mul", {centered, inverse}), inverse};
}

// dx from the gradient g of the standardized value v: inverse * (g - mean(g) - v * mean(g * v)).
inline ValueId standardize_gradient(GradContext& grad, const Standardized& s, ValueId g) {
  const ValueId along = grad.mean_over(grad.add("Mul", {g, s.value}), s.axes);
  const ValueId centered = grad.add("Sub", {g, grad.mean_over(g, s.axes)});
  const ValueId rest = grad.add("Sub", {centered, grad.add("Mul", {s.value, along})});
  return grad.add("Mul", {rest, s.inverse});
}

}  // namespace trainyard::ops
