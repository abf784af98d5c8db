// 3x3 depthwise convolution: every channel has its own filter. On one core 1.2 to 2.3 times as fast
// as oneDNN on MobileNet v2, and at par where memory is the limit
// (bench/results/native_kernels.md).
#pragma once

#include <cstdint>

#include "engine/kernels/native/conv/activation.h"
#include "engine/kernels/native/gemm/packed_buffer.h"

namespace trainyard::kernels::native {

inline constexpr int64_t kDepthwiseTaps = 9;
// Floats per block of 8 channels: taps and bias.
inline constexpr int64_t kDepthwisePacked = (kDepthwiseTaps + 1) * 8;

struct DepthwiseShape {
  int64_t batch = 1;
  int64_t channels = 0;
  int64_t height = 0;  // of the input, without padding
  int64_t width = 0;
  int64_t stride = 1;  // 1 or 2
  int64_t pad_top = 1;
  int64_t pad_left = 1;
  int64_t pad_bottom = 1;
  int64_t pad_right = 1;

  int64_t out_height() const { return (height + pad_top + pad_bottom - 3) / stride + 1; }
  int64_t out_width() const { return (width + pad_left + pad_right - 3) / stride + 1; }
};

// The convolution with weights that were packed elsewhere.
class DepthwiseProduct {
 public:
  // Error if the shape is empty, the stride is neither 1 nor 2, the activation moves zero, or the
  // processor lacks AVX2 and FMA.
  DepthwiseProduct(const DepthwiseShape& shape, Activation activation);

  // Of the packed weights: [block of 8 channels][9 taps, then the bias][8], padding zero.
  int64_t packed_floats() const;
  // From weights [channels][1][3][3] and a bias ([channels], or null). Turned: windows turned by
  // half a circle, as the gradient of the input wants them.
  void pack(const float* weights, const float* bias, bool turned, float* packed) const;

  // dst = activation(conv(src) + bias). Both in nChw8c (channels padded with zeros to a multiple of
  // 8); all aligned to 32 bytes. Does not allocate or throw; may be called from several threads at
  // once.
  void run(const float* packed, const float* src, float* dst, int threads) const;

 private:
  template <int kStride>
  void convolve_rows(const float* packed, const float* src, int64_t plane, int64_t begin,
                     int64_t end, float* dst) const;

  DepthwiseShape shape_;
  Activation activation_;
  PackedBuffer zeros_;  // a row of the input, for padding
};

// The convolution with weights that never change.
class DepthwiseConv {
 public:
  // Packs and keeps the weights ([channels][1][3][3]) and the bias ([channels], or null). Errors as
  // DepthwiseProduct.
  DepthwiseConv(const DepthwiseShape& shape, const float* weights, const float* bias,
                Activation activation)
      : product_(shape, activation), packed_(product_.packed_floats()) {
    product_.pack(weights, bias, /*turned=*/false, packed_.data());
  }

  // As DepthwiseProduct::run.
  void run(const float* src, float* dst, int threads) const {
    product_.run(packed_.data(), src, dst, threads);
  }

 private:
  DepthwiseProduct product_;
  PackedBuffer packed_;
};

}  // namespace trainyard::kernels::native
