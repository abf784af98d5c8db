#include "engine/kernels/native/gemm/wide_finish.h"

#include "engine/kernels/native/conv/conv_node.h"
#include "engine/kernels/native/cpu.h"
#include "ops/math/activation.h"

namespace trainyard::kernels::native {

std::optional<WideFinish> wide_finish(const NodeView& node) {
  const ops::ActivationSpec activation = ops::activation_of(node);
  // Its first attribute says which of two formulas.
  if (activation.op == "Gelu") {
    return WideFinish{.activation = activation.alpha == 0 ? WideActivation::kGelu
                                                          : WideActivation::kGeluByTanh};
  }
  if (activation.op == "Swish") {
    return WideFinish{.activation = WideActivation::kSwishOf, .slope = activation.alpha};
  }
  if (activation.op == "HardSwish") return WideFinish{.activation = WideActivation::kHardSwish};
  if (activation.op == "Tanh") return WideFinish{.activation = WideActivation::kTanhOf};
  if (!has_range_activation(node)) return std::nullopt;
  const Activation range = range_activation(node);
  return WideFinish{.low = range.low, .high = range.high};
}

Precision precision_here() {
  const bool halves = PrecisionScope::active() == Precision::kBf16 && cpu_has_avx512_bf16();
  return halves ? Precision::kBf16 : Precision::kF32;
}

}  // namespace trainyard::kernels::native
