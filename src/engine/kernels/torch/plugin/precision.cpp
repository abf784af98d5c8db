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
  return present == kTorchBF16Products;
}

Tensor factor(const Tensor& x) {
  return rounds_factors() && x.defined() ? x.to(at::kBFloat16) : x;
}

}  // namespace trainyard::torch_plugin
