#include "engine/kernels/torch/plugin/window.h"

#include <algorithm>

namespace trainyard::torch_plugin {
namespace {

void fit_end(Window& window, const Ints& x, const Ints& y) {
  window.end.clear();
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t covered =
        (y[i + 2] - 1) * window.strides[i] + window.dilations[i] * (window.kernel[i] - 1) + 1;
    window.end.push_back(covered - x[i + 2] - window.begin[i]);
  }
}

// In the order of constant_pad_nd: the last dimension first, begin before end.
Ints pairs_of(const Ints& begin, const Ints& end, int64_t sign) {
  Ints pairs;
  for (size_t i = begin.size(); i-- > 0;) {
    pairs.push_back(sign * begin[i]);
    pairs.push_back(sign * end[i]);
  }
  return pairs;
}

}  // namespace

// What is left over at the end libtorch leaves over too.
bool Window::is_even() const {
  for (size_t i = 0; i < begin.size(); ++i) {
    if (end[i] > begin[i] || end[i] <= begin[i] - strides[i]) return false;
  }
  return true;
}

bool Window::pads_nothing() const {
  const auto nothing = [](int64_t pad) { return pad <= 0; };
  return std::all_of(begin.begin(), begin.end(), nothing) &&
         std::all_of(end.begin(), end.end(), nothing);
}

Ints Window::padded_dims(const Ints& dims) const {
  Ints padded = dims;
  for (size_t i = 0; i < begin.size(); ++i) padded[i + 2] += begin[i] + end[i];
  return padded;
}

Tensor Window::padded(const Tensor& x, double value) const {
  return at::constant_pad_nd(x, pairs_of(begin, end, 1), value);
}

Tensor Window::cropped(const Tensor& x) const {
  return at::constant_pad_nd(x, pairs_of(begin, end, -1), 0);
}

Window window_of(const Node& node) {
  Window window;
  window.kernel = node.attr_ints("window_kernel", {});
  window.strides = node.attr_ints("window_strides", {});
  window.dilations = node.attr_ints("window_dilations", {});
  window.begin = node.attr_ints("window_begin", {});
  if (node.op() == "ConvTranspose") {
    window.end = node.attr_ints("window_end", {});
  } else {
    fit_end(window, node.input_dims(0), node.output_dims(0));
  }
  return window;
}

Window window_from_attributes(const Node& node, const Ints& kernel, const Ints& x, const Ints& y) {
  const size_t rank = kernel.size();
  Window window;
  window.kernel = kernel;
  window.strides = node.attr_ints("strides", Ints(rank, 1));
  window.dilations = node.attr_ints("dilations", Ints(rank, 1));
  const Ints pads = node.attr_ints("pads", Ints(2 * rank, 0));
  window.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  fit_end(window, x, y);
  return window;
}

const char* refuses_auto_pad(const Node& node) {
  const std::string_view pad = node.attr_text("auto_pad", "NOTSET");
  return pad == "NOTSET" || pad == "VALID" ? "" : "auto_pad is not implemented";
}

}  // namespace trainyard::torch_plugin
