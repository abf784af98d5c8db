// The gradient of the first convolution's weights: few input channels in plain layout, blocked
// gradient.
#pragma once

#include <vector>

#include "engine/kernels/native/conv/stem_conv.h"

namespace trainyard::kernels::native {

// Whether StemWeightGradient is expected to beat oneDNN. Measured on one core
// (bench/results/training_conv.md): 5.6 times as fast with one channel (LeNet), 1.3 times with
// three and a 7x7 window, at par with 3x3 windows.
bool stem_weight_gradient_pays(const StemShape& shape);

class StemWeightGradient {
 public:
  // The shape is that of the forward convolution. Error if it is empty or the processor lacks AVX2
  // and FMA.
  StemWeightGradient(const StemShape& shape, int threads);

  int64_t scratch_bytes() const;

  // src is NCHW, dy nChw8c (channels padded with zeros to a multiple of 8) and dw Ohwi8o, the
  // latter two aligned to 32 bytes; scratch is aligned to 64 bytes. The result does not depend on
  // the number of threads. Does not allocate or throw; may be called from several threads at once,
  // each with its own buffers.
  void run(const float* src, const float* dy, float* dw, void* scratch) const;

 private:
  int64_t padded_height() const { return shape_.height + shape_.pad_top + shape_.pad_bottom; }
  int64_t padded_width() const { return shape_.width + shape_.pad_left + shape_.pad_right; }
  int64_t padded_floats() const;
  int64_t sum_floats() const;
  void copy_padded(const float* image, float* padded) const;
  void add_image(const float* padded, const float* dy, float* sums) const;

  StemShape shape_;
  int threads_;
  int64_t parts_;                 // of the batch, each with its own sums
  int64_t blocks_;                // of 8 output channels
  std::vector<int64_t> offsets_;  // of each weight's first input in the padded image
};

}  // namespace trainyard::kernels::native
