// Winograd's transform of filters that change between runs.
#pragma once

#include "kernels/native/winograd.h"

namespace trainyard::kernels::native {

// Which convolution the weights are transformed for.
enum class FilterUse {
  kForward,        // as they are
  kGradientInput,  // dy to dx: channels exchanged, windows turned by half a circle
};

// From weights in OIhw8i8o (as the forward convolution has them, padding zero, aligned to 32 bytes)
// to what `product` wants, whose shape is that of the convolution computed: for the gradient its
// input channels are the weights' output channels. Does not allocate or throw.
void transform_filters(const WinogradProduct& product, FilterUse use, const float* weights,
                       float* transformed, int threads);

}  // namespace trainyard::kernels::native
