// Convolutions of u8 by i8, channels last, exact in 32 bits. Two spatial dimensions, any groups.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/kernels/native/gemm/packed_buffer.h"
#include "engine/kernels/native/int8/byte_kernels.h"
#include "engine/kernels/native/parallel.h"

namespace trainyard::kernels::native {

struct ByteConvShape {
  int64_t batch = 1;
  int64_t in_channels = 1;
  int64_t out_channels = 1;
  int64_t groups = 1;
  int64_t height = 1;
  int64_t width = 1;
  int64_t window_rows = 1;
  int64_t window_columns = 1;
  int64_t row_stride = 1;
  int64_t column_stride = 1;
  int64_t row_dilation = 1;
  int64_t column_dilation = 1;
  int64_t pad_top = 0;
  int64_t pad_left = 0;
  int64_t out_height = 1;
  int64_t out_width = 1;

  int64_t taps() const { return window_rows * window_columns; }
  int64_t pixels() const { return batch * out_height * out_width; }
};

// What one run works on; of y and reals one is null.
struct ByteConvArgs {
  const uint8_t* x = nullptr;
  const uint8_t* added = nullptr;  // where Finish::adds
  uint8_t* y = nullptr;
  float* reals = nullptr;
  int64_t real_block = 1;  // channels that lie together in reals; 1: channels last
  bool sums = false;       // reals are the sums themselves, as i32
  void* scratch = nullptr;
  // What only the run tells, instead of the numbers that the convolution was made with: one for
  // each padded channel, see place(). Null: its own.
  const int32_t* bias = nullptr;
  const float* multiplier = nullptr;
  const float* shift = nullptr;  // added to reals; null: nothing
  // Zero points for one pixel, in_channels / groups of them, or null.
  const uint8_t* outside = nullptr;
};

// What every output channel has. Row-major weights M x C/groups x rows x columns.
struct ByteConvNumbers {
  const int8_t* weights = nullptr;
  const int32_t* bias = nullptr;
  const float* multiplier = nullptr;
  int64_t x_zero = 0;
};

// Sums must fit 32 bits (ops::sums_fit).
class ByteConv {
 public:
  // Taps beyond this are refused.
  static constexpr int64_t kMostTaps = 128;

  ByteConv(const ByteConvShape& shape, const ByteConvNumbers& numbers, const Finish& finish,
           const ByteKernels& kernels);
  int64_t scratch_bytes() const;
  void run(const ByteConvArgs& args) const;
  // Can results in floats lie in blocks of so many channels?
  static bool writes_blocks(const ByteConvShape& shape, int64_t block, const ByteKernels& kernels);
  // Where the number of a channel stands among those that a run brings, of padded_channels().
  int64_t padded_channels() const { return static_cast<int64_t>(bias_.size()); }
  template <typename T>
  void place(const T* by_channel, T* padded) const {
    for (const Block& block : blocks_) {
      for (int64_t i = 0; i < block.vectors * kernels_.lanes; ++i) {
        padded[block.numbers + i] = i < block.channels ? by_channel[block.channel + i] : T{};
      }
    }
  }
  // Are weights kept in 16 bits, since products of eight could saturate here?
  bool is_wide() const { return wide_; }

 private:
  // Some output channels of a group.
  struct Block {
    int64_t group = 0;
    int64_t channel = 0;
    int64_t channels = 0;
    int64_t vectors = 0;
    int64_t weights = 0;  // where its weights begin, in bytes
    int64_t numbers = 0;  // where its biases and multipliers begin
    int64_t order = 0;    // and the order of its steps
  };

  // Where windows begin, along rows or columns of y.
  struct Start {
    int64_t offset = 0;   // bytes
    int64_t first = 0;    // row or column of x, which may lie outside
    bool inside = false;  // the whole window
  };
  // Of a window, from its first.
  struct Tap {
    int64_t row = 0;
    int64_t column = 0;
    int64_t offset = 0;  // bytes
  };

  void plan_blocks();
  void pack(const ByteConvNumbers& numbers);
  void pack_block(Block& block, const ByteConvNumbers& numbers);
  std::vector<int64_t> order_tap(const Block& block, const ByteConvNumbers& numbers, int64_t tap);
  bool pairs_fit(const ByteConvNumbers& numbers) const;
  int64_t weight_at(int64_t channel, int64_t tap, int64_t k) const;
  void plan_pixels();
  void copy_padded(const ByteConvArgs& args, uint8_t* to) const;
  int64_t tiles_in_row(int64_t first, int64_t most) const;
  void run_tiles(const ByteConvArgs& args, const uint8_t* x, const Block& block, Range tiles) const;
  void run_tile(const ByteConvArgs& args, const uint8_t* x, const Block& block, Range pixels,
                int64_t tiles) const;
  void find_rows(const uint8_t* x, const uint8_t* outside, int64_t first, int64_t count,
                 const uint8_t** rows) const;

  ByteConvShape shape_;
  Finish finish_;
  const ByteKernels& kernels_;
  // Few channels: the columns of a window count as channels, over a copy with padding around.
  bool merged_ = false;
  bool dense_ = false;  // pixels of x and y are the same
  bool wide_ = false;
  int64_t taps_ = 1;
  int64_t depth_ = 1;
  int64_t depth_steps_ = 1;
  int64_t read_depth_ = 1;
  int64_t tiles_ = 1;
  int64_t padded_height_ = 0;
  int64_t padded_row_ = 0;  // bytes
  std::vector<Block> blocks_;
  PackedBuffer weights_;
  int64_t weight_bytes_ = 0;
  std::vector<int32_t> bias_;
  std::vector<float> multiplier_;
  std::vector<uint8_t> outside_;
  int64_t x_zero_ = 0;
  std::vector<int32_t> order_;
  std::vector<Start> row_starts_;  // by image and row of y
  std::vector<Start> column_starts_;
  Range inside_;  // columns of y whose windows are
  std::vector<Tap> taps_at_;
};

// One channel in, one out.
class ByteDepthwise {
 public:
  static bool takes(const ByteConvShape& shape);

  ByteDepthwise(const ByteConvShape& shape, const ByteConvNumbers& numbers, const Finish& finish,
                const ByteKernels& kernels);
  void run(const uint8_t* x, uint8_t* y) const;

 private:
  struct Block {
    const DepthwiseKernel* kernel = nullptr;
    int64_t first = 0;  // channel
    int64_t channels = 0;
    int64_t packed = 0;  // where its numbers begin, in bytes
  };

  void plan_blocks(const ByteConvNumbers& numbers, const ByteKernels& kernels);
  void pack_block(const Block& block, const ByteConvNumbers& numbers);
  void run_block(const uint8_t* x, uint8_t* y, const Block& block, int64_t lines) const;

  ByteConvShape shape_;
  Finish finish_;
  std::vector<Block> blocks_;
  int64_t rows_at_once_ = 1;  // of results
  PackedBuffer packed_;
  std::vector<uint8_t> outside_;  // a row of zero points
};

}  // namespace trainyard::kernels::native
