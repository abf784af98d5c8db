#include "engine/kernels/torch/plugin/precision.h"

namespace trainyard::torch_plugin {
namespace {

thread_local int32_t present = kTorchFull;

}  // namespace

PrecisionScope::PrecisionScope(int32_t precision) : before_(present) {
  present = precision;
}

PrecisionScope::~PrecisionScope() {
  present = before_;
}

bool rounds_factors() {
  return present == kTorchBF16Products || present == kTorchF16Products;
}

Tensor factor(const Tensor& x) {
  if (!x.defined() || !rounds_factors()) return x;
  if (present == kTorchBF16Products) return x.to(at::kBFloat16);
  const Tensor rounded = x.to(at::kHalf);
  return x.is_cpu() ? rounded.to(x.scalar_type()) : rounded;
}

Tensor product(const Tensor& y) {
  return present == kTorchF16Products && y.is_cpu() ? factor(y) : y;
}

}  // namespace trainyard::torch_plugin
