// Convolution as the plain sum with vectors of 16, of images in blocks of channels.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/kernels/native/conv/activation.h"
#include "engine/kernels/native/gemm/packed_buffer.h"
#include "engine/kernels/native/parallel.h"

namespace trainyard::kernels::native {

// A convolution with one group and dilation 1.
struct DirectShape {
  int64_t batch = 1;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t height = 0;  // of the input, without padding
  int64_t width = 0;
  int64_t kernel = 1;  // height and width of the window
  int64_t stride = 1;
  int64_t pad_top = 0;
  int64_t pad_left = 0;
  int64_t pad_bottom = 0;
  int64_t pad_right = 0;
  // Floats from one image to the next; 0: dense. The added tensor lies as dst.
  int64_t src_image_stride = 0;
  int64_t dst_image_stride = 0;
  int64_t block = 16;  // channels per block of src and dst: 8 or 16

  int64_t out_height() const { return (height + pad_top + pad_bottom - kernel) / stride + 1; }
  int64_t out_width() const { return (width + pad_left + pad_right - kernel) / stride + 1; }
};

// Whether DirectConv is there and expected to beat oneDNN's (bench/results/direct.md).
//   blocks of 16: any window, but for few positions, and 1x1 of few channels or many positions
//   blocks of 8, where vectors of 16 take two cycles: 1x1, since oneDNN then has 16 registers in
//   place of 32
bool direct_pays(const DirectShape& shape);

// What is done to results in vectors of 16 before they leave the cache; y[i] = f(y[i]).
using DirectFinish = void (*)(const float* x, int64_t count, float alpha, float* y);

class DirectConv {
 public:
  // Packs and keeps weights, [out_channels][in_channels][kernel][kernel], and bias
  // ([out_channels], or null). Error if the shape is empty or the processor lacks AVX-512.
  DirectConv(const DirectShape& shape, const float* weights, const float* bias,
             Activation activation);

  // Applied to all that was stored; leaves zero at zero.
  void set_finish(DirectFinish finish, float alpha);

  int64_t scratch_bytes(int threads) const;

  // dst = activation(conv(src) + bias + added); `added` may be null, or dst. scratch is aligned to
  // 64 bytes. The sum goes over the window in one order, whatever the number of threads. Does not
  // allocate or throw; may be called from several threads at once, each with its own buffers.
  void run(const float* src, const float* added, float* dst, void* scratch, int threads) const;

 private:
  // Output channels that are computed together.
  struct Group {
    int64_t channel;
    int64_t vectors;
    int64_t begin;  // of its weights: where they lie changes when they are shared
  };
  // Positions are read where they lie if the window is one of them; otherwise rows are copied with
  // their padding, the columns that each step of the stride begins at side by side.
  struct Plan {
    bool copies = false;
    int64_t rows = 0;       // of output in an image; one if they follow each other
    int64_t positions = 0;  // of output in a row
    int64_t chunk = 0;      // rows whose input is held at a time, or positions of the one row
    int64_t copied_rows = 0;
    int64_t copied_columns = 0;
    int64_t phases = 0;  // of columns
    int64_t row_step = 0;
    int64_t x_row = 0;  // floats from one row of output to the next, of the input
    int64_t x_plane = 0;
    std::vector<int64_t> taps;
    int64_t depth = 0;  // input channels whose weights are held at a time
  };
  // Rows or positions of an image, for some groups.
  struct Part {
    const float* src;
    const float* added;
    float* dst;
    Range range;
    Range groups;
  };

  void make_plan();
  void pack(const float* weights, const float* bias);
  int64_t copy_floats() const { return plan_.copies ? in_planes() * plan_.x_plane : 0; }
  int64_t in_planes() const;
  void copy_rows(const float* src, Range rows, float* to) const;
  void run_part(const Part& part, float* copy) const;
  void run_chunk(const Part& part, const float* x) const;

  DirectShape shape_;
  Activation activation_;
  DirectFinish finish_ = nullptr;
  float finish_alpha_ = 0;
  Plan plan_;
  std::vector<Group> groups_;
  PackedBuffer weights_;  // [group][block of input channels][tap][channel][16 x vectors]
  PackedBuffer bias_;     // padded to whole vectors
};

}  // namespace trainyard::kernels::native
