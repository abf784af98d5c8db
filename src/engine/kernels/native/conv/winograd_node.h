// What the Winograd kernels ask of their nodes.
#pragma once

#include "engine/kernels/native/conv/winograd.h"
#include "ops/nn/conv.h"
#include "ops/op_def.h"

namespace trainyard::kernels::native {

inline constexpr std::string_view kNotWinogradWindow =
    "only windows of 3x3 and 5x5 with stride 1 are implemented";

inline bool is_winograd_window(const ops::Window& window) {
  return window.strides == std::vector<int64_t>{1, 1} &&
         window.dilations == std::vector<int64_t>{1, 1} && window.kernel[0] == window.kernel[1] &&
         (window.kernel[0] == 3 || window.kernel[0] == 5);
}

// Of a convolution of x by weights w.
inline WinogradShape winograd_shape(const Shape& x, const Shape& w, const ops::Window& window) {
  return {.batch = x[0],
          .in_channels = x[1],
          .out_channels = w[0],
          .height = x[2],
          .width = x[3],
          .kernel = window.kernel[0],
          .pad_top = window.pads_begin[0],
          .pad_left = window.pads_begin[1],
          .pad_bottom = window.pads_end[0],
          .pad_right = window.pads_end[1]};
}

// Of one group of a Conv or FusedConv; the others' channels lie between its images.
inline WinogradShape forward_shape(const NodeView& node) {
  WinogradShape shape =
      winograd_shape(node.input_shape(0), node.input_shape(1), *ops::op_of(node).window(node));
  const int64_t groups = node.attr_int("group", 1);
  shape.in_channels /= groups;
  shape.out_channels /= groups;
  return shape;
}

}  // namespace trainyard::kernels::native
