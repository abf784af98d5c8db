#include "ops/nn/window.h"

#include <algorithm>

#include "base/error.h"

namespace trainyard::ops {
namespace {

// A window of more than this in one direction is a broken file, not a network.
constexpr int64_t kLargestExtent = int64_t{1} << 31;

// Sums and products of two such numbers do not overflow.
void require_small(const Shape& input) {
  for (const int64_t d : input.dims().subspan(2)) {
    TY_REQUIRE(d < kLargestExtent, "input has shape {}", input.to_string());
  }
}

std::vector<int64_t> spatial_attr(const NodeView& node, std::string_view name, size_t count,
                                  int64_t fallback, int64_t least) {
  std::vector<int64_t> values = node.attr_ints(name, std::vector<int64_t>(count, fallback));
  TY_REQUIRE(values.size() == count, "attribute '{}' has {} entries, expected {}", name,
             values.size(), count);
  for (const int64_t value : values) {
    TY_REQUIRE(least <= value && value < kLargestExtent,
               "attribute '{}' holds {}, expected {} or more", name, value, least);
  }
  return values;
}

// Everything about a window whose kernel is set, except what auto_pad=SAME_… works out.
void read_strides_and_pads(const NodeView& node, Window& window) {
  const size_t rank = window.rank();
  for (const int64_t k : window.kernel) {
    TY_REQUIRE(1 <= k && k < kLargestExtent, "a kernel of size {} is not possible", k);
  }
  window.strides = spatial_attr(node, "strides", rank, 1, 1);
  window.dilations = spatial_attr(node, "dilations", rank, 1, 1);
  const std::vector<int64_t> pads = spatial_attr(node, "pads", 2 * rank, 0, 0);
  window.pads_begin.assign(pads.begin(), pads.begin() + static_cast<int64_t>(rank));
  window.pads_end.assign(pads.begin() + static_cast<int64_t>(rank), pads.end());
  const std::string auto_pad = node.attr_text("auto_pad", "NOTSET");
  TY_REQUIRE(auto_pad == "NOTSET" || auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER" ||
                 auto_pad == "VALID",
             "auto_pad '{}' is not one of NOTSET, SAME_UPPER, SAME_LOWER, VALID", auto_pad);
  if (auto_pad == "VALID") {
    std::fill(window.pads_begin.begin(), window.pads_begin.end(), 0);
    std::fill(window.pads_end.begin(), window.pads_end.end(), 0);
  }
}

void pad_automatically(Window& window, const Shape& input, bool lower) {
  for (size_t i = 0; i < window.rank(); ++i) {
    const int64_t size = input[static_cast<int64_t>(i) + 2];
    const int64_t stride = window.strides[i];
    const int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const int64_t positions = (size + stride - 1) / stride;
    const int64_t pad = std::max<int64_t>(0, (positions - 1) * stride + extent - size);
    window.pads_begin[i] = lower ? pad - pad / 2 : pad / 2;
    window.pads_end[i] = pad - window.pads_begin[i];
  }
}

int64_t positions(const Window& window, size_t i, int64_t size, bool ceil_mode) {
  const int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
  const int64_t padded = size + window.pads_begin[i] + window.pads_end[i];
  TY_REQUIRE(padded >= extent, "a window of {} does not fit into {} padded positions", extent,
             padded);
  const int64_t stride = window.strides[i];
  int64_t count = (padded - extent + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  // The last window must begin inside the input or its left padding.
  if (ceil_mode && (count - 1) * stride >= size + window.pads_begin[i]) --count;
  return count;
}

}  // namespace

int64_t Window::kernel_elements() const {
  return Shape(kernel).num_elements();
}

Window resolve_window(const NodeView& node, const Shape& input, std::vector<int64_t> kernel) {
  const size_t rank = kernel.size();
  TY_REQUIRE(static_cast<size_t>(input.rank()) == rank + 2,
             "input of shape {} has {} spatial dimensions, the kernel has {}", input.to_string(),
             input.rank() - 2, rank);
  Window window;
  window.kernel = std::move(kernel);
  read_strides_and_pads(node, window);
  require_small(input);
  const std::string auto_pad = node.attr_text("auto_pad", "NOTSET");
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    pad_automatically(window, input, auto_pad == "SAME_LOWER");
  }
  const bool ceil_mode = node.attr_int("ceil_mode", 0) != 0;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = input[static_cast<int64_t>(i) + 2];
    window.output.push_back(size == Shape::kUnknown ? size : positions(window, i, size, ceil_mode));
  }
  return window;
}

Window resolve_transposed_window(const NodeView& node, const Shape& input, const Shape& weights) {
  Window window;
  window.kernel.assign(weights.dims().begin() + 2, weights.dims().end());
  const size_t rank = window.rank();
  const std::vector<int64_t> declared = node.attr_ints("kernel_shape", window.kernel);
  TY_REQUIRE(declared == window.kernel,
             "attribute 'kernel_shape' differs from the weights' shape {}", weights.to_string());
  read_strides_and_pads(node, window);
  const std::vector<int64_t> extra = spatial_attr(node, "output_padding", rank, 0, 0);
  const std::string auto_pad = node.attr_text("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  const std::vector<int64_t> wanted = node.attr_ints("output_shape", {});
  TY_REQUIRE(wanted.empty() || wanted.size() >= rank,
             "attribute 'output_shape' has {} entries, expected {}", wanted.size(), rank);
  for (const int64_t size : wanted) {
    TY_REQUIRE(size < kLargestExtent, "attribute 'output_shape' holds {}", size);
  }
  require_small(input);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = input[static_cast<int64_t>(i) + 2];
    if (size == Shape::kUnknown) {
      window.output.push_back(size);
      continue;
    }
    const int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const int64_t covered = (size - 1) * window.strides[i] + extent + extra[i];
    if (wanted.empty() && !same) {
      window.output.push_back(covered - window.pads_begin[i] - window.pads_end[i]);
    } else {
      // Some exporters write batch and channels into output_shape too.
      window.output.push_back(wanted.empty() ? size * window.strides[i]
                                             : wanted[wanted.size() - rank + i]);
      const int64_t pad = std::max<int64_t>(0, covered - window.output[i]);
      window.pads_begin[i] = auto_pad == "SAME_UPPER" ? pad / 2 : pad - pad / 2;
      window.pads_end[i] = pad - window.pads_begin[i];
    }
    TY_REQUIRE(window.output[i] >= 1, "output dimension {} would have size {}", i + 2,
               window.output[i]);
  }
  return window;
}

Shape window_output_shape(int64_t batch, int64_t channels, const Window& window) {
  std::vector<int64_t> dims = {batch, channels};
  dims.insert(dims.end(), window.output.begin(), window.output.end());
  return Shape(std::move(dims));
}

}  // namespace trainyard::ops
