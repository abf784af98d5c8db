// 3x3 and 5x5 convolution of stride 1 by Winograd's minimal filtering: fewer multiplications than
// the plain sum, so it may go beyond the processor's multiply-add peak.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/kernels/native/conv/activation.h"
#include "engine/kernels/native/gemm/packed_buffer.h"

namespace trainyard::kernels::native {

// A convolution with one group, stride 1, dilation 1 and a square window.
struct WinogradShape {
  int64_t batch = 1;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t height = 0;  // of the input, without padding
  int64_t width = 0;
  int64_t kernel = 3;  // or 5
  int64_t pad_top = 1;
  int64_t pad_left = 1;
  int64_t pad_bottom = 1;
  int64_t pad_right = 1;

  // Floats from one image to the next, a multiple of 8; 0: the images follow each other. Lets src
  // and dst be parts of wider tensors, such as one operand of a concatenation. The residual lies as
  // dst.
  int64_t src_image_stride = 0;
  int64_t dst_image_stride = 0;
  // Channels per block of src and dst: 8 or 16.
  int64_t block = 8;

  int64_t out_height() const { return height + pad_top + pad_bottom - kernel + 1; }
  int64_t out_width() const { return width + pad_left + pad_right - kernel + 1; }
};

// Edge of the square of outputs computed together. Larger needs fewer multiplications, but more
// weight memory ((edge + kernel - 1)^2 / kernel^2 of the plain weights) and more rounding error.
// There is no 6x6 tile for a 5x5 window.
enum class WinogradTile { k2 = 2, k4 = 4, k6 = 6 };

// The tile that is expected to beat a direct convolution, or nothing if none is. Measured against
// oneDNN's direct kernels on one core, weights not in cache (bench/results/winograd.md):
//   3 input channels                     0.6 to 0.8 of its speed: the transforms cost too much
//   from 16 channels, 13x13 and larger   1.7 to 3.5 times its speed with 4x4 tiles
//   112x112 and larger                   up to 1.09 times that with 6x6 tiles
//   7x7, batch 1                         1.4 to 1.7 with 2x2 tiles, 1.4 with 4x4: larger weights
//   7x7, batch 8                         2.3 to 2.9 with 4x4 tiles
//   5x5 window                           2.0 (7x7 images) to 4.0 with 4x4 tiles
std::optional<WinogradTile> winograd_pays(const WinogradShape& shape);
// The same if the weights are transformed in every run. Measured on one core
// (bench/results/training_conv.md): 1.4 (16 channels) to 4 times oneDNN's speed.
std::optional<WinogradTile> training_winograd_pays(const WinogradShape& shape);
// A smaller tile where it is hardly slower and the weights are large: with 2x2 tiles in place of
// 4x4 those of 14x14 pictures take 16/9 of the plain ones in place of 36/9; ResNet-50 takes 1.5 %
// longer at batch 1.
WinogradTile compact_tile(const WinogradShape& shape, WinogradTile tile);

// Changing: transformed in every run.
enum class WinogradWeights { kGiven, kNonConstant };

// Non-constant weights, where a run transforms them itself.
class WinogradFilters {
 public:
  WinogradFilters() = default;
  WinogradFilters(const WinogradFilters&) = delete;
  WinogradFilters& operator=(const WinogradFilters&) = delete;
  virtual ~WinogradFilters() = default;
  // Of a panel of 16 output channels, to [point][input channel][16]. Does not allocate or throw.
  virtual void transform(int64_t panel, float* out) const = 0;
};

// What one run works on. src, residual and dst are in blocks of channels (padded with zeros to
// whole blocks) and aligned to 32 bytes; residual is null or shaped like dst, and may be dst.
struct WinogradOperands {
  // Transformed: [panel of 16 output channels][point][input channel][16]; null: from `filters`.
  const float* weights;
  const float* bias;  // padded to whole panels
  const float* src;
  const float* residual;
  float* dst;
  const WinogradFilters* filters = nullptr;
};

// The convolution with weights that were transformed elsewhere, or are when they are wanted.
class WinogradProduct {
 public:
  // Error if the shape is empty, there is no such tile for the window, the activation moves zero,
  // or the processor lacks AVX2 and FMA.
  WinogradProduct(const WinogradShape& shape, WinogradTile tile, WinogradWeights weights,
                  Activation activation);

  const WinogradShape& shape() const { return shape_; }
  WinogradTile tile() const { return tile_; }
  // Does run() want `filters`? Only if the weights are not constant.
  bool transforms_late(int threads) const;
  // Of the transformed weights and the bias.
  int64_t weight_floats() const;
  int64_t bias_floats() const;
  // Of the buffer run() needs with this many threads.
  int64_t scratch_bytes(int threads) const;

  // dst = activation(conv(src) + bias + residual). scratch is aligned to 64 bytes. Does not
  // allocate or throw; may be called from several threads at once, each with its own buffers.
  void run(const WinogradOperands& operands, void* scratch, int threads) const;

 private:
  WinogradShape shape_;
  WinogradTile tile_;
  WinogradWeights weights_;
  Activation activation_;
};

// The convolution with weights that never change.
class WinogradConv {
 public:
  // Transforms and keeps the weights ([out_channels][in_channels][kernel][kernel]) and the bias
  // ([out_channels], or null). Errors as WinogradProduct.
  WinogradConv(const WinogradShape& shape, WinogradTile tile, const float* weights,
               const float* bias, Activation activation);

  int64_t scratch_bytes(int threads) const { return product_.scratch_bytes(threads); }
  // As WinogradProduct::run.
  void run(const float* src, const float* residual, float* dst, void* scratch, int threads) const;

  int64_t weight_bytes() const { return weights_.size() * static_cast<int64_t>(sizeof(float)); }

 private:
  WinogradProduct product_;
  PackedBuffer weights_;
  PackedBuffer bias_;
};

}  // namespace trainyard::kernels::native
