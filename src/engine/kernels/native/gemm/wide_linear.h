// A fully connected layer for AVX-512, with weights packed once: y = activation(x W + b).
#pragma once

#include "engine/kernels/api/precision.h"
#include "engine/kernels/native/gemm/packed_buffer.h"
#include "engine/kernels/native/gemm/packed_linear.h"
#include "engine/kernels/native/gemm/wide_tile.h"
#include "engine/kernels/native/parallel.h"

namespace trainyard::kernels::native {

class WideLinear {
 public:
  // Weights and bias as PackedLinear takes them. Error if the shape is empty or the processor lacks
  // AVX-512, or its BF16 for kBf16.
  WideLinear(const LinearShape& shape, const float* weights, int64_t output_stride,
             int64_t input_stride, const float* bias, const WideFinish& finish,
             Precision precision = Precision::kF32);

  // Of the memory that run() needs, aligned to 64 bytes.
  int64_t scratch_bytes() const;
  Precision precision() const { return precision_; }

  // x is [rows][inputs], y is [rows][outputs]. Does not allocate or throw.
  void run(const float* x, float* y, void* scratch) const;

 private:
  // The outputs of a panel: whole vectors but for the last, at most three, and in all panels nearly
  // as many, so that threads have equal work.
  Range outputs_of(int64_t panel) const;
  void pack(const float* weights, int64_t output_stride, int64_t input_stride);
  void pack_halves(const float* weights, int64_t output_stride, int64_t input_stride);
  // Some groups of rows by one panel; the next panel is fetched meanwhile.
  void run_panel(const float* x, float* y, int64_t panel, Range groups) const;

  LinearShape shape_;
  WideFinish finish_;
  Precision precision_;
  int64_t depth_;         // inputs, or pairs of them in bf16
  int64_t panels_;        // of the outputs
  PackedBuffer weights_;  // [panel][depth][48], of which the first are the panel's outputs
  PackedBuffer bias_;
};

}  // namespace trainyard::kernels::native
