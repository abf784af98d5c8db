// What the depthwise kernels ask of their nodes.
#pragma once

#include <string_view>

#include "engine/kernels/native/conv/depthwise.h"
#include "ir/node_view.h"
#include "ops/nn/window.h"

namespace trainyard::kernels::native {

// Why a convolution of x by w is not one of those implemented; empty if it is.
inline std::string_view refuses_depthwise(const NodeView& node, const Shape& x, const Shape& w,
                                          const ops::Window& window) {
  if (node.attr_int("group", 1) != x[1] || w[0] != x[1]) return "not one filter per channel";
  if (window.kernel != std::vector<int64_t>{3, 3} ||
      window.dilations != std::vector<int64_t>{1, 1} || window.strides[0] != window.strides[1] ||
      window.strides[0] > 2) {
    return "only windows of 3x3 with stride 1 or 2 are implemented";
  }
  return "";
}

inline DepthwiseShape depthwise_shape(const Shape& x, const ops::Window& window) {
  return {.batch = x[0],
          .channels = x[1],
          .height = x[2],
          .width = x[3],
          .stride = window.strides[0],
          .pad_top = window.pads_begin[0],
          .pad_left = window.pads_begin[1],
          .pad_bottom = window.pads_end[0],
          .pad_right = window.pads_end[1]};
}

}  // namespace trainyard::kernels::native
