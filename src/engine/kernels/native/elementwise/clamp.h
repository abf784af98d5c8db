// The activations that training kernels apply themselves: Relu and Clip, as bounds.
#pragma once

#include <string_view>

#include "engine/kernels/native/conv/activation.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/vectors.h"
#include "ops/math/activation.h"

namespace trainyard::kernels::native {

// Empty if the node's activation is none, Relu or Clip, and keeps the padding of `channels` in
// blocks of eight zero.
inline std::string_view refuses_clamp(const NodeView& node, int64_t channels) {
  const ops::ActivationSpec spec = ops::activation_of(node);
  if (!spec.op.empty() && spec.op != "Relu" && spec.op != "Clip") {
    return "only Relu and Clip are applied";
  }
  if (channels % 8 != 0 && spec(0.0) != 0.0) return "the activation would stain the padding";
  return "";
}

inline Activation clamp_of(const NodeView& node) {
  const ops::ActivationSpec spec = ops::activation_of(node);
  if (spec.op == "Relu") return kRelu;
  if (spec.op == "Clip") return {spec.alpha, spec.beta};
  return kIdentity;
}

class ClampVectors {
 public:
  explicit ClampVectors(const Activation& clamp)
      : low_(_mm256_set1_ps(clamp.low)), high_(_mm256_set1_ps(clamp.high)) {}

  // NaN stays NaN: max and min give their second operand for it.
  __m256 operator()(__m256 x) const { return _mm256_min_ps(high_, _mm256_max_ps(low_, x)); }
  // All bits set where the gradient passes: strictly between the bounds.
  __m256 passes(__m256 y) const {
    return _mm256_and_ps(_mm256_cmp_ps(y, low_, _CMP_GT_OQ), _mm256_cmp_ps(y, high_, _CMP_LT_OQ));
  }

 private:
  __m256 low_;
  __m256 high_;
};

}  // namespace trainyard::kernels::native
