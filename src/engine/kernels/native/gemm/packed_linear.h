// A fully connected layer on a small batch, with weights packed once: y = activation(x W^T + b).
#pragma once

#include <cstdint>

#include "engine/kernels/native/conv/activation.h"
#include "engine/kernels/native/gemm/packed_buffer.h"

namespace trainyard::kernels::native {

struct LinearShape {
  int64_t rows = 1;  // the batch
  int64_t inputs = 0;
  int64_t outputs = 0;
};

// Whether PackedLinear is expected to beat oneDNN's inner product. Measured on one core with
// weights not in cache (bench/results/native_kernels.md): one row runs at memory speed in oneDNN,
// where packing gains nothing; 2 to 16 rows run 1.25 to 2.1 times as fast packed.
bool packed_linear_pays(const LinearShape& shape);

class PackedLinear {
 public:
  // Packs and keeps the weights and the bias ([outputs], or null). Weight (output k, input c) is
  // weights[k * output_stride + c * input_stride], so both storage orders serve. Error if the shape
  // is empty or the processor lacks AVX2 and FMA.
  PackedLinear(const LinearShape& shape, const float* weights, int64_t output_stride,
               int64_t input_stride, const float* bias, Activation activation);

  // Of the buffer run() needs with this many threads.
  int64_t scratch_bytes(int threads) const;

  // x is [rows][inputs], y is [rows][outputs], both dense; scratch is aligned to 64 bytes. Does not
  // allocate or throw; may be called from several threads at once, each with its own buffers.
  void run(const float* x, float* y, void* scratch, int threads) const;

 private:
  void multiply_panel(const float* blocked, int64_t panel, float* sums, float* y) const;

  LinearShape shape_;
  Activation activation_;
  PackedBuffer weights_;  // [panel of 16 outputs][input][16]
  PackedBuffer bias_;     // padded to whole panels
};

}  // namespace trainyard::kernels::native
