// Winograd's transform of filters that change between runs.
#pragma once

#include "engine/kernels/native/conv/winograd.h"

namespace trainyard::kernels::native {

// Which convolution the weights are transformed for.
enum class FilterUse {
  kForward,        // as they are
  kGradientInput,  // dy to dx: channels exchanged, windows turned by half a circle
};

// From weights in OIhw8i8o (as the forward convolution has them, padding zero, aligned to 32 bytes)
// to what `product` wants, whose shape is that of the convolution computed: for the gradient its
// input channels are the weights' output channels. Both must outlive it.
class ChangingFilters final : public WinogradFilters {
 public:
  ChangingFilters(const WinogradProduct& product, FilterUse use, const float* weights);

  void transform(int64_t panel, float* out) const override;
  // All of them.
  void transform_all(float* out, int threads) const;

 private:
  using Transform = void (*)(const WinogradShape&, FilterUse, const float* weights, int64_t panel,
                             int64_t in_block, float* out);

  const WinogradProduct& product_;
  FilterUse use_;
  const float* weights_;
  Transform transform_;
};

}  // namespace trainyard::kernels::native
