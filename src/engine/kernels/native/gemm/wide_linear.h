// A fully connected layer for AVX-512, with weights packed once: y = activation(x W + b).
#pragma once

#include "engine/kernels/native/gemm/packed_buffer.h"
#include "engine/kernels/native/gemm/packed_linear.h"
#include "engine/kernels/native/gemm/wide_tile.h"
#include "engine/kernels/native/parallel.h"

namespace trainyard::kernels::native {

class WideLinear {
 public:
  // Weights and bias as PackedLinear takes them. Error if the shape is empty or the processor lacks
  // AVX-512.
  WideLinear(const LinearShape& shape, const float* weights, int64_t output_stride,
             int64_t input_stride, const float* bias, const WideFinish& finish);

  // x is [rows][inputs], y is [rows][outputs]. Does not allocate or throw.
  void run(const float* x, float* y) const;

 private:
  // Some groups of rows by one panel; the next panel is fetched meanwhile.
  void run_panel(const float* x, float* y, int64_t panel, Range groups) const;

  LinearShape shape_;
  WideFinish finish_;
  PackedBuffer weights_;  // [panel of 48 outputs][input][48]
  PackedBuffer bias_;
};

}  // namespace trainyard::kernels::native
