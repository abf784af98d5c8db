// Tensors whose memory ends where a page begins that nobody may touch: reading or writing beyond
// the end is a signal, in builds without sanitizers too.
#pragma once

#include "tensor/tensor.h"

namespace trainyard::fuzz {

// Filled with bytes that make unlikely numbers. The end is exact where `alignment` is that of an
// element; fast kernels count on Tensor::kAlignment and may read up to a multiple of it.
Tensor fenced(TensorType type, size_t alignment = Tensor::kAlignment);
// A copy that ends exactly at the fence.
Tensor fenced_copy(const Tensor& tensor);

}  // namespace trainyard::fuzz
