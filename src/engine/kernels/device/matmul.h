// The product of matrices, which 1x1 convolutions are too.
#pragma once

#include "engine/kernels/device/scalar_codes.h"

namespace trainyard::kernels::on_device {

// What text/matmul.cl takes besides its arrays, in its order.
struct MatmulShape {
  int64_t m = 1;
  int64_t n = 1;
  int64_t k = 1;
  int64_t a_strides[3] = {};  // row, column, batch
  int64_t b_strides[3] = {};
  int64_t c_strides[3] = {};
  float alpha = 1;
  float beta = 1;
  int64_t batch = 1;
};

// Arrays a, b, c and sum are inputs of the node; kNoInput: none.
inline constexpr size_t kNoInput = 1000;
struct MatmulInputs {
  size_t a = 0;
  size_t b = 1;
  size_t c = 2;
  size_t sum = kNoInput;
};

// With the activation of the node.
std::unique_ptr<Kernel> matmul_kernel(const NodeView& node, Device& device,
                                      const MatmulInputs& inputs, const MatmulShape& shape);

}  // namespace trainyard::kernels::on_device
