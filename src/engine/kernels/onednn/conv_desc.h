// What the oneDNN convolutions, forward and backward, share: windows, weights, and how weights that
// change between runs reach the library.
#pragma once

#include "engine/kernels/onednn/dnnl.h"
#include "ops/nn/window.h"

namespace trainyard::kernels::onednn {

// A window as the library counts: dilation 0 is dense.
struct ConvWindow {
  explicit ConvWindow(const ops::Window& window);
  dnnl::memory::dims strides;
  dnnl::memory::dims dilations;
  dnnl::memory::dims pads_begin;
  dnnl::memory::dims pads_end;
};

// Groups are a dimension of their own: G x O/G x I/G x window.
dnnl::memory::dims weight_dims(const Shape& weights, int64_t group);
// Row-major weights in those dimensions.
Desc plain_weights(const Shape& weights, int64_t group);

// Can the weights' layout be agreed on outside of the kernel? Not with groups: our tensors have no
// dimension for them.
inline bool shares_weight_layout(int64_t group) {
  return group == 1;
}

// `bytes` rounded up to what scratch memory is aligned to.
int64_t aligned_bytes(size_t bytes);

}  // namespace trainyard::kernels::onednn
