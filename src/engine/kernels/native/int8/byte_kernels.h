// The innermost loops over bytes, once for each kind of processor. Plain data and pointers only:
// files that are compiled for processors which this program may not meet include it.
#pragma once

#include <cstdint>

namespace trainyard::kernels::native {

// Channels of pixels lie together (NHWC). A tile is a few pixels by a block of output channels.
inline constexpr int64_t kMostTilePixels = 6;
inline constexpr int64_t kMostTileVectors = 4;
inline constexpr int64_t kDepthStep = 4;  // products that one instruction adds

// clamp(round(sum * multiplier) + zero, low, high), then maybe the sum with another tensor; see
// ops/quantize/quantized_conv.cpp.
struct Finish {
  int32_t zero = 0;
  int32_t low = 0;
  int32_t high = 255;
  bool adds = false;
  float own_ratio = 1;
  float sum_ratio = 1;
  int32_t sum_zero = 0;
  int32_t out_zero = 0;
  int32_t out_low = 0;
  int32_t out_high = 255;
};

struct ConvTile {
  // taps x kMostTilePixels: where the `depth` bytes under one tap of one pixel lie.
  const uint8_t* const* rows = nullptr;
  // As many tiles one after the other, each so many bytes of x behind the last.
  int64_t tiles = 1;
  int64_t advance = 0;
  int64_t taps = 0;
  int64_t depth = 0;
  const void* weights = nullptr;  // tap by tap, four by four bytes of depth, vector by vector
  // Without exact_pairs, for each tap: how many steps are added by twos, where in the depth they
  // begin, how many are added alone, and where. Weights lie in this order.
  const int32_t* order = nullptr;
  const int32_t* bias = nullptr;
  const float* multiplier = nullptr;
  const float* shift = nullptr;  // added to reals; null: nothing
  const Finish* finish = nullptr;
  int64_t channels = 0;  // of the block that exist
  int64_t stride = 0;    // elements between pixels of y and of what is added
  uint8_t* y = nullptr;
  float* reals = nullptr;  // instead of y
  bool sums = false;       // reals are the sums themselves, as i32
  int64_t real_pixel = 0;  // elements between its pixels
  // Elements between its vectors of channels and between the halves of one, where they lie in
  // blocks, whole ones; 0: channels last.
  int64_t real_vector = 0;
  int64_t real_half = 0;
  const uint8_t* added = nullptr;
};
using ConvTileFunction = void (*)(const ConvTile&);

// A row of results of a depthwise convolution, a block of its channels.
struct DepthwiseRow {
  // One per row of the window: pixel 0, channel 0 of the block. Then others that may be read, up to
  // a multiple of four.
  const uint8_t* const* rows = nullptr;
  const uint8_t* outside = nullptr;  // zero points, for pixels beyond the ends
  const uint8_t* end = nullptr;      // of x: what must not be read
  int64_t window_rows = 0;
  int64_t window_columns = 0;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad = 0;      // pixels before the row
  int64_t width = 0;    // pixels in a row
  int64_t results = 0;  // pixels of y
  int64_t pixel = 0;    // bytes between pixels of x and of y
  int64_t channels = 0;
  const void* packed = nullptr;  // by DepthwiseKernel::pack()
  const Finish* finish = nullptr;
  uint8_t* y = nullptr;
  uint8_t* below = nullptr;  // the next row of results, where the kernel takes two
};

struct DepthwiseKernel {
  int64_t channels = 0;  // per block
  // Where windows have three rows and move by one, makes two rows of results from four of x.
  bool takes_two = false;
  int64_t (*bytes)(int64_t window_rows, int64_t window_columns) = nullptr;
  // Of one block: channels x taps weights, a bias and a multiplier for each channel.
  void (*pack)(const int8_t* weights, const int32_t* bias, const float* multiplier,
               int64_t window_rows, int64_t window_columns, void* packed) = nullptr;
  void (*run)(const DepthwiseRow&) = nullptr;
};
inline constexpr int64_t kTwoRowsWindow = 3;

// Larger windows are computed as convolutions in groups.
inline constexpr int64_t kMostDepthwiseRows = 8;
inline constexpr int64_t kMostDepthwiseSpan = 32;  // columns from the first tap to the last

struct ByteKernels {
  const char* name;
  int64_t lanes;    // output channels in a vector
  int64_t vectors;  // at most in a block
  int64_t pixels;   // at most in a tile
  // By vectors and pixels, less one. Products of eight bits, added in fours. With `exact_pairs`
  // false, two neighboring products must fit 16 bits.
  ConvTileFunction conv[kMostTileVectors][kMostTilePixels];
  bool exact_pairs;
  // The same by weights that were widened to 16 bits; null where not needed.
  ConvTileFunction wide_conv[kMostTileVectors][kMostTilePixels];
  DepthwiseKernel depthwise;
  // For a last block of at most so many channels; absent where one kind is enough.
  DepthwiseKernel narrow_depthwise;
  // For weights whose products do not fit in pairs; absent with exact_pairs.
  DepthwiseKernel wide_depthwise;
  // Products of bytes in registers alone, and how many of them a round adds up.
  void (*peak)(int64_t rounds);
  int64_t peak_products;
};

// AVX2, which every processor has that gets here.
const ByteKernels& avx2_byte_kernels();
// AVX-512 with its VNNI; ask cpu_has_avx512_vnni() first.
const ByteKernels& vnni_byte_kernels();
// The best of this processor.
const ByteKernels& byte_kernels();

}  // namespace trainyard::kernels::native
