// 3x3 convolution of stride 1 by Winograd's minimal filtering: fewer multiplications than the
// plain sum, so it may go beyond the processor's multiply-add peak.
#pragma once

#include <cstdint>

#include "kernels/native/activation.h"
#include "kernels/native/packed_buffer.h"

namespace trainyard::kernels::native {

// A convolution with one group, stride 1, dilation 1 and a 3x3 window.
struct WinogradShape {
  int64_t batch = 1;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t height = 0;  // of the input, without padding
  int64_t width = 0;
  int64_t pad_top = 1;
  int64_t pad_left = 1;
  int64_t pad_bottom = 1;
  int64_t pad_right = 1;

  int64_t out_height() const { return height + pad_top + pad_bottom - 2; }
  int64_t out_width() const { return width + pad_left + pad_right - 2; }
};

// Edge of the square of outputs computed together. Larger needs fewer multiplications, but more
// weight memory ((edge + 2)^2 / 9 of the plain weights) and more rounding error.
enum class WinogradTile { k2 = 2, k4 = 4, k6 = 6 };

class WinogradConv {
 public:
  // Transforms and keeps the weights ([out_channels][in_channels][3][3]) and the bias
  // ([out_channels], or null). Error if the shape is empty, the activation moves zero, or the
  // processor lacks AVX2 and FMA.
  WinogradConv(const WinogradShape& shape, WinogradTile tile, const float* weights,
               const float* bias, Activation activation);

  // Of the buffer run() needs with this many threads.
  int64_t scratch_bytes(int threads) const;

  // dst = activation(conv(src) + bias + residual). All in nChw8c (channels padded with zeros to a
  // multiple of 8) and aligned to 32 bytes; residual is null or shaped like dst, and may be dst.
  // scratch is aligned to 64 bytes. Does not allocate or throw; may be called from several threads
  // at once, each with its own buffers.
  void run(const float* src, const float* residual, float* dst, void* scratch, int threads) const;

  int64_t weight_bytes() const { return weights_.size() * static_cast<int64_t>(sizeof(float)); }

 private:
  WinogradShape shape_;
  WinogradTile tile_;
  Activation activation_;
  PackedBuffer weights_;  // [panel of 16 output channels][point][input channel][16]
  PackedBuffer bias_;     // padded to whole panels
};

}  // namespace trainyard::kernels::native
