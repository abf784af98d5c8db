// Pools over windows and over everything, their gradients, and LRN, which sums over neighbors.
#include <limits>

#include "engine/kernels/torch/plugin/window.h"

namespace trainyard::torch_plugin {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();
const Ints kNone = {0, 0};
const Ints kOnes = {1, 1};

const char* refuses_pool(const Node& node) {
  if (const char* reason = refuses_unless_f32(node); *reason != 0) return reason;
  if (node.has_output(1)) return "the positions of the largest are not implemented";
  if (node.input_rank(0) != 4) return "only two spatial dimensions are implemented";
  return "";
}

Run make_max(const Node& node) {
  const Window window = window_of(node);
  return [window](const Tensors& in, const Tensors& out) {
    out[0].copy_(at::max_pool2d(window.padded(in[0], kNothing), window.kernel, window.strides,
                                kNone, window.dilations));
  };
}

Run make_max_gradient(const Node& node) {
  const Window window = window_from_attributes(node, node.attr_ints("kernel_shape", {}),
                                               node.input_dims(0), node.input_dims(1));
  return [window](const Tensors& in, const Tensors& out) {
    const Tensor x = window.padded(in[0], kNothing);
    const auto [y, where] =
        at::max_pool2d_with_indices(x, window.kernel, window.strides, kNone, window.dilations);
    out[0].copy_(window.cropped(at::max_pool2d_with_indices_backward(
        in[1], x, window.kernel, window.strides, kNone, window.dilations, false, where)));
  };
}

const char* refuses_max_gradient(const Node& node) {
  if (const char* reason = refuses_unless_f32(node); *reason != 0) return reason;
  if (node.input_rank(0) != 4) return "only two spatial dimensions are implemented";
  return refuses_auto_pad(node);
}

// How many numbers each window averages, of x with these dimensions; a number if all alike.
struct Counts {
  double alike = 0;
  Tensor each;  // 1 x 1 x windows; undefined: alike

  Tensor divided(const Tensor& sums) const {
    return each.defined() ? at::div(sums, each.to(sums.device())) : at::div(sums, alike);
  }
};

Counts counts_of(const Node& node, const Window& window, const Ints& x) {
  Counts counts;
  counts.alike = static_cast<double>(window.kernel[0] * window.kernel[1]);
  if (window.pads_nothing()) return counts;
  Ints dims = {1, 1, x[2], x[3]};
  Window outer = window;
  Tensor counted = at::ones(dims);
  if (node.attr_int("count_include_pad", 0) != 0) {
    // Padding counts as far as it was asked for, not what lies beyond it in the last window.
    const Ints ends = node.attr_ints("window_end", node.attr_ints("pads", {0, 0, 0, 0}));
    const Ints asked = {ends.end() - 2, ends.end()};
    Window inner = window;
    for (size_t i = 0; i < 2; ++i) inner.end[i] = std::min(window.end[i], asked[i]);
    counted = inner.padded(counted, 1);
    outer.begin = kNone;
    for (size_t i = 0; i < 2; ++i) outer.end[i] = window.end[i] - inner.end[i];
  }
  counts.each = at::avg_pool2d(outer.padded(counted, 0), window.kernel, window.strides, kNone,
                               false, true, 1);
  return counts;
}

const char* refuses_average(const Node& node) {
  if (const char* reason = refuses_pool(node); *reason != 0) return reason;
  for (const int64_t dilation : node.attr_ints("window_dilations", kOnes)) {
    if (dilation != 1) return "dilated windows are not implemented";
  }
  return "";
}

Run make_average(const Node& node) {
  const Window window = window_of(node);
  const Counts counts = counts_of(node, window, node.input_dims(0));
  return [window, counts](const Tensors& in, const Tensors& out) {
    out[0].copy_(counts.divided(at::avg_pool2d(window.padded(in[0], 0), window.kernel,
                                               window.strides, kNone, false, true, 1)));
  };
}

const char* refuses_average_gradient(const Node& node) {
  if (const char* reason = refuses_unless_f32(node); *reason != 0) return reason;
  if (node.input_rank(0) != 4) return "only two spatial dimensions are implemented";
  return refuses_auto_pad(node);
}

Run make_average_gradient(const Node& node) {
  const Ints x = node.output_dims(0);
  const Window window =
      window_from_attributes(node, node.attr_ints("kernel_shape", {}), x, node.input_dims(0));
  const Counts counts = counts_of(node, window, x);
  return [window, counts, x](const Tensors& in, const Tensors& out) {
    // Only its shape is read.
    const Tensor shape = at::empty(window.padded_dims(x), in[0].options());
    out[0].copy_(window.cropped(at::avg_pool2d_backward(counts.divided(in[0]), shape, window.kernel,
                                                        window.strides, kNone, false, true, 1)));
  };
}

Ints spatial_axes(const Node& node) {
  Ints axes;
  for (int64_t i = 2; i < node.input_rank(0); ++i) axes.push_back(i);
  return axes;
}

Run make_global_average(const Node& node) {
  const Ints axes = spatial_axes(node);
  return [axes](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    at::mean_out(y, in[0], axes, true);
  };
}

Run make_global_max(const Node& node) {
  const Ints axes = spatial_axes(node);
  return [axes](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    at::amax_out(y, in[0], axes, true);
  };
}

// --- local response normalization

struct Lrn {
  explicit Lrn(const Node& node)
      : size(node.attr_int("size", 1)),
        alpha(node.attr_float("alpha", 1e-4F)),
        beta(node.attr_float("beta", 0.75)),
        bias(node.attr_float("bias", 1)) {}

  // The mean over `size` channels, of which `before` come before each.
  Tensor mean(const Tensor& x, int64_t before) const {
    const int64_t images = x.size(0);
    const int64_t channels = x.size(1);
    const Tensor rows = x.reshape({images, 1, channels, -1});
    const Tensor padded = at::constant_pad_nd(rows, {0, 0, before, size - 1 - before}, 0);
    return at::avg_pool2d(padded, {size, 1}, {1, 1}).reshape(x.sizes());
  }
  int64_t before() const { return (size - 1) / 2; }
  Tensor scale(const Tensor& x) const {
    return mean(at::square(x), before()).mul_(alpha).add_(bias);
  }

  int64_t size;
  double alpha;
  double beta;
  double bias;
};

Run make_lrn(const Node& node) {
  const Lrn lrn(node);
  return [lrn](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    at::mul_out(y, in[0], at::pow(lrn.scale(in[0]), -lrn.beta));
  };
}

// See the reference kernel for the formula.
Run make_lrn_gradient(const Node& node) {
  const Lrn lrn(node);
  return [lrn](const Tensors& in, const Tensors& out) {
    const Tensor scale = lrn.scale(in[0]);
    const Tensor direct = at::mul(in[1], at::pow(scale, -lrn.beta));
    const Tensor shares = at::mul(direct, in[0]).div_(scale);
    const Tensor back = lrn.mean(shares, lrn.size - 1 - lrn.before()).mul_(in[0]);
    Tensor dx = out[0];
    at::sub_out(dx, direct, back, 2 * lrn.alpha * lrn.beta);
  };
}

constexpr Operator kPools[] = {
    {"AveragePool", refuses_average, make_average},
    {"AveragePoolGrad", refuses_average_gradient, make_average_gradient},
    {"GlobalAveragePool", refuses_unless_f32, make_global_average},
    {"GlobalMaxPool", refuses_unless_f32, make_global_max},
    {"LRN", refuses_unless_f32, make_lrn},
    {"LRNGrad", refuses_unless_f32, make_lrn_gradient},
    {"MaxPool", refuses_pool, make_max},
    {"MaxPoolGrad", refuses_max_gradient, make_max_gradient},
};

}  // namespace

std::span<const Operator> pooling_operators() {
  return kPools;
}

}  // namespace trainyard::torch_plugin
