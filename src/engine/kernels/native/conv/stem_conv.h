// The first convolution of an image network: few input channels in plain layout, a large window,
// blocked output.
#pragma once

#include <cstdint>

#include "engine/kernels/native/conv/activation.h"
#include "engine/kernels/native/gemm/packed_buffer.h"

namespace trainyard::kernels::native {

// A convolution with one group, dilation 1 and a square window.
struct StemShape {
  int64_t batch = 1;
  int64_t in_channels = 3;
  int64_t out_channels = 0;
  int64_t height = 0;  // of the input, without padding
  int64_t width = 0;
  int64_t kernel = 0;
  int64_t stride = 1;
  int64_t pad_top = 0;
  int64_t pad_left = 0;
  int64_t pad_bottom = 0;
  int64_t pad_right = 0;

  int64_t out_height() const { return (height + pad_top + pad_bottom - kernel) / stride + 1; }
  int64_t out_width() const { return (width + pad_left + pad_right - kernel) / stride + 1; }
};

// Whether StemConv is expected to beat oneDNN. Measured on one core
// (bench/results/native_kernels.md): oneDNN has no direct kernel for AlexNet's 11x11 window of
// stride 4 and reaches 55 to 60 % of the multiply-add peak there; for 7x7 and 3x3 windows both are
// near the peak.
bool stem_conv_pays(const StemShape& shape);

class StemConv {
 public:
  // Packs and keeps the weights ([out_channels][in_channels][kernel][kernel]) and the bias
  // ([out_channels], or null). Error if the shape is empty, the activation moves zero, or the
  // processor lacks AVX2 and FMA.
  StemConv(const StemShape& shape, const float* weights, const float* bias, Activation activation);

  // Of the buffer run() needs with this many threads.
  int64_t scratch_bytes(int threads) const;

  // dst = activation(conv(src) + bias). src is NCHW; dst is nChw8c (channels padded with zeros to a
  // multiple of 8), aligned to 32 bytes; scratch is aligned to 64 bytes. Does not allocate or
  // throw; may be called from several threads at once, each with its own buffers.
  void run(const float* src, float* dst, void* scratch, int threads) const;

 private:
  void copy_rows(const float* image, int64_t y, float* rows) const;
  void convolve_row(const float* rows, int64_t image, int64_t y, float* dst) const;
  int64_t row_floats() const;

  StemShape shape_;
  Activation activation_;
  PackedBuffer weights_;  // [panel of 16 output channels][input channel][kernel][kernel][16]
  PackedBuffer bias_;     // padded to whole panels
};

}  // namespace trainyard::kernels::native
