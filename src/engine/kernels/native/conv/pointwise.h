// 1x1 convolution of images in blocks of 8 channels with vectors of 16.
#pragma once

#include <cstdint>

#include "engine/kernels/native/conv/activation.h"
#include "engine/kernels/native/gemm/packed_buffer.h"
#include "engine/kernels/native/parallel.h"

namespace trainyard::kernels::native {

struct PointwiseShape {
  int64_t batch = 1;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t positions = 0;         // of an image
  int64_t src_image_stride = 0;  // 0: dense
  int64_t dst_image_stride = 0;
};

// Whether PointwiseConv is there and expected to beat oneDNN's: where vectors of 16 take two
// cycles, images are in blocks of 8, and oneDNN then has 16 registers in place of 32. Measured in
// bench/results/pointwise.md.
bool pointwise_pays(const PointwiseShape& shape);

class PointwiseConv {
 public:
  // Packs and keeps weights, [out_channels][in_channels], and bias ([out_channels], or null). Error
  // if the shape is empty or the processor lacks AVX-512.
  PointwiseConv(const PointwiseShape& shape, const float* weights, const float* bias,
                Activation activation);

  // src and dst are nChw8c, as is `added` (or null), which may be dst. Does not allocate or throw;
  // may be called from several threads at once.
  void run(const float* src, const float* added, float* dst, int threads) const;

 private:
  // Some positions of an image, for some groups of 32 channels.
  struct Part {
    const float* src;
    const float* added;
    float* dst;
    Range positions;
    Range groups;
  };
  void run_part(const Part& part) const;
  void run_positions(const Part& part) const;
  int64_t groups() const;

  PointwiseShape shape_;
  Activation activation_;
  PackedBuffer weights_;  // [group][in channel][32], the last group maybe [16]
  PackedBuffer bias_;     // padded to whole groups
};

}  // namespace trainyard::kernels::native
