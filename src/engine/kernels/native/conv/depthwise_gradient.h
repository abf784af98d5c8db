// Gradients of a 3x3 depthwise convolution. Measured on one core against oneDNN
// (bench/results/training_conv.md): of the input 1.2 to 4.3 times as fast, of the weights 0.8 (7x7
// images) to 1.9 times.
#pragma once

#include "engine/kernels/native/conv/depthwise.h"

namespace trainyard::kernels::native {

// All take the shape of the forward convolution, tensors in nChw8c (channels padded with zeros to a
// multiple of 8) aligned to 32 bytes, and weights [channels][1][3][3]. None allocates or throws.

// dx of a convolution with stride 2. packed: the weights as DepthwiseProduct::pack() leaves them,
// not turned.
void depthwise_input_gradient_by_two(const DepthwiseShape& shape, const float* packed,
                                     const float* dy, float* dx, int threads);

// dw. zeros: a row of the input, width x 8. The result does not depend on the number of threads.
void depthwise_weight_gradient(const DepthwiseShape& shape, const float* src, const float* dy,
                               const float* zeros, float* dw, int threads);

}  // namespace trainyard::kernels::native
