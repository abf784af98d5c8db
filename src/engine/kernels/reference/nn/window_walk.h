// Walks the elements under a sliding window: what convolution and pooling have in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/integers.h"
#include "ops/nn/window.h"

namespace trainyard::kernels::reference {

class WindowWalk {
 public:
  // `sizes`: the spatial dimensions the window slides over.
  WindowWalk(ops::Window window, std::vector<int64_t> sizes)
      : window_(std::move(window)), sizes_(std::move(sizes)) {
    for (const int64_t size : sizes_) input_size_ *= size;
    for (const int64_t count : window_.output) output_size_ *= count;
  }

  int64_t input_size() const { return input_size_; }    // elements of one channel
  int64_t output_size() const { return output_size_; }  // window positions
  int64_t kernel_size() const { return window_.kernel_elements(); }
  const std::vector<int64_t>& sizes() const { return sizes_; }

  // Calls visit(tap, at) for each kernel element `tap` that lies on an input element `at` when the
  // window stands at `position`; all are flat row-major indices.
  template <typename F>
  void for_each(int64_t position, F&& visit) const {
    step(0, position, output_size_, 0, 0, visit);
  }

  // How many kernel elements lie on the input or its padding.
  int64_t count_with_padding(int64_t position) const {
    int64_t count = 1;
    int64_t stride = output_size_;
    for (size_t d = 0; d < sizes_.size(); ++d) {
      const int64_t first = origin(d, position, stride);
      count *= taps_before(d, first, sizes_[d] + window_.pads_end[d]);
    }
    return count;
  }

 private:
  // Where the window begins in dimension d. `stride` is the number of positions dimension d and
  // those after it make; on return, that of the dimensions after it.
  int64_t origin(size_t d, int64_t position, int64_t& stride) const {
    const int64_t count = window_.output[d];
    stride /= count;
    return position / stride % count * window_.strides[d] - window_.pads_begin[d];
  }

  // How many kernel elements of a window that begins at `first` lie before `limit`. Not found one
  // by one: a kernel may be far longer than the input and its padding.
  int64_t taps_before(size_t d, int64_t first, int64_t limit) const {
    if (first >= limit) return 0;
    return std::min(window_.kernel[d], divide_up(limit - first, window_.dilations[d]));
  }

  template <typename F>
  void step(size_t d, int64_t position, int64_t stride, int64_t tap, int64_t at, F& visit) const {
    if (d == sizes_.size()) return visit(tap, at);
    const int64_t first = origin(d, position, stride);
    const int64_t end = taps_before(d, first, sizes_[d]);
    for (int64_t k = taps_before(d, first, 0); k < end; ++k) {
      const int64_t i = first + k * window_.dilations[d];
      step(d + 1, position, stride, tap * window_.kernel[d] + k, at * sizes_[d] + i, visit);
    }
  }

  ops::Window window_;
  std::vector<int64_t> sizes_;
  int64_t input_size_ = 1;
  int64_t output_size_ = 1;
};

// The walk of a node whose operator has a window, over the spatial dimensions of its input 0.
inline WindowWalk window_walk(const NodeView& node, const ops::Window& window) {
  const auto dims = node.input_shape(0).dims().subspan(2);
  return {window, {dims.begin(), dims.end()}};
}

}  // namespace trainyard::kernels::reference
