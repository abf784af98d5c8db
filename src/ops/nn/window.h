// Sliding windows: the arithmetic that convolution and pooling share.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/node_view.h"
#include "tensor/shape.h"

namespace trainyard::ops {

// One entry per spatial dimension, everything resolved (auto_pad, defaults, ceil_mode).
struct Window {
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads_begin;
  std::vector<int64_t> pads_end;
  std::vector<int64_t> output;  // output positions

  size_t rank() const { return kernel.size(); }
  int64_t kernel_elements() const;
};

// Reads strides, pads, dilations, auto_pad and ceil_mode of `node` for a window of `kernel` over
// the spatial dimensions of `input` (N, C, spatial…). Throws Error for windows that do not fit.
Window resolve_window(const NodeView& node, const Shape& input, std::vector<int64_t> kernel);

// The same for a transposed window (ConvTranspose), which reads output_padding and output_shape
// too; `output` is then what the windows cover, one window per input position. `weights` is C x
// M/group x kernel.
Window resolve_transposed_window(const NodeView& node, const Shape& input, const Shape& weights);

// {batch, channels, window.output…}
Shape window_output_shape(int64_t batch, int64_t channels, const Window& window);

}  // namespace trainyard::ops
