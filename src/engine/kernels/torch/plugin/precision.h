// In what precision products are computed: convolutions, products of matrices, attention.
#pragma once

#include "engine/kernels/torch/plugin/family.h"

namespace trainyard::torch_plugin {

// While it lives, factor() of this thread rounds to the precision (TorchPrecision).
class PrecisionScope {
 public:
  explicit PrecisionScope(int32_t precision);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  int32_t before_;
};

// An operand of a product in the precision of the present scope: itself, or rounded to bf16 or f16.
// The product then has that type too, and becomes f32 again where it is copied to the result.
//
// On processors f16 is rounded to and the product computed in f32, since libtorch 1.13 multiplies
// no f16 there: range and rounding are those of f16, the speed is not.
Tensor factor(const Tensor& x);
// A product of factors, rounded as they are; above 65504 it is infinite in f16.
Tensor product(const Tensor& y);
// Whether factor() rounds.
bool rounds_factors();

}  // namespace trainyard::torch_plugin
