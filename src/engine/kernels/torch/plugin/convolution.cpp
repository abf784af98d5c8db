// Conv, FusedConv, ConvTranspose and the gradients of Conv.
#include "engine/kernels/torch/plugin/activation.h"
#include "engine/kernels/torch/plugin/precision.h"
#include "engine/kernels/torch/plugin/window.h"

namespace trainyard::torch_plugin {
namespace {

using MaybeTensor = c10::optional<Tensor>;

MaybeTensor optional_input(const Tensors& in, size_t i) {
  return i < in.size() && in[i].defined() ? MaybeTensor(factor(in[i])) : MaybeTensor();
}

const char* refuses_conv(const Node& node) {
  if (const char* reason = refuses_unless_f32(node); *reason != 0) return reason;
  if (node.input_rank(0) < 3 || node.input_rank(0) > 5) return "one to three spatial dimensions";
  return refuses_activation(node);
}

Run make_conv(const Node& node) {
  const Window window = window_of(node);
  const int64_t groups = node.attr_int("group", 1);
  const Ints none(window.strides.size(), 0);
  const Activation activate = activation_of(node);
  return [=](const Tensors& in, const Tensors& out) {
    const Tensor x = window.is_even() ? in[0] : window.padded(in[0], 0);
    const Ints pads = window.is_even() ? window.begin : none;
    Tensor y = at::convolution(factor(x), factor(in[1]), optional_input(in, 2), window.strides,
                               pads, window.dilations, false, none, groups);
    y = product(y).to(out[0].scalar_type());
    if (in.size() > 3 && in[3].defined()) y.add_(in[3]);
    Tensor result = out[0];
    activate(result, y);
  };
}

// What libtorch calls output_padding: how much further the result reaches than its windows.
Ints further_by(const Node& node, const Window& window) {
  Ints further;
  const Ints x = node.input_dims(0);
  const Ints y = node.output_dims(0);
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t covered = (x[i + 2] - 1) * window.strides[i] - 2 * window.begin[i] +
                            window.dilations[i] * (window.kernel[i] - 1) + 1;
    further.push_back(y[i + 2] - covered);
  }
  return further;
}

const char* refuses_transposed(const Node& node) {
  if (const char* reason = refuses_conv(node); *reason != 0) return reason;
  const Window window = window_of(node);
  const Ints further = further_by(node, window);
  for (size_t i = 0; i < further.size(); ++i) {
    const int64_t most = std::max(window.strides[i], window.dilations[i]);
    if (further[i] < 0 || further[i] >= most) return "pads that differ too much";
  }
  return "";
}

Run make_transposed(const Node& node) {
  const Window window = window_of(node);
  const Ints further = further_by(node, window);
  const int64_t groups = node.attr_int("group", 1);
  return [=](const Tensors& in, const Tensors& out) {
    out[0].copy_(
        product(at::convolution(factor(in[0]), factor(in[1]), optional_input(in, 2), window.strides,
                                window.begin, window.dilations, true, further, groups)));
  };
}

// dx from (dy, w), or dw from (x, dy): `x` and `w` are the shapes of both.
struct Gradient {
  Window window;
  Ints none;
  int64_t groups = 1;
  Ints x;
  Ints w;

  // {dx, dw}, of which one is wanted.
  std::tuple<Tensor, Tensor> operator()(const Tensor& dy, const Tensor& at_x, const Tensor& at_w,
                                        bool wants_x) const {
    const auto [dx, dw, db] =
        at::convolution_backward(factor(dy), factor(at_x), factor(at_w), c10::nullopt,
                                 window.strides, window.is_even() ? window.begin : none,
                                 window.dilations, false, none, groups, {wants_x, !wants_x, false});
    return {wants_x ? product(dx) : dx, wants_x ? dw : product(dw)};
  }
};

Gradient gradient_of(const Node& node, const Ints& x, const Ints& w) {
  Gradient gradient;
  gradient.x = x;
  gradient.w = w;
  const Ints kernel(w.begin() + 2, w.end());
  const Ints dy = node.input_dims(node.op() == "ConvGradInput" ? 0 : 1);
  gradient.window = window_from_attributes(node, kernel, x, dy);
  gradient.none = Ints(kernel.size(), 0);
  gradient.groups = node.attr_int("group", 1);
  return gradient;
}

const char* refuses_gradient(const Node& node) {
  if (const char* reason = refuses_unless_f32(node); *reason != 0) return reason;
  if (node.output_rank(0) < 3 || node.output_rank(0) > 5) return "one to three spatial dimensions";
  return refuses_auto_pad(node);
}

Run make_input_gradient(const Node& node) {
  const Gradient gradient = gradient_of(node, node.output_dims(0), node.input_dims(1));
  return [gradient](const Tensors& in, const Tensors& out) {
    const Window& window = gradient.window;
    // Only its shape is read.
    const Tensor x = at::empty({1}, in[0].options())
                         .expand(window.is_even() ? gradient.x : window.padded_dims(gradient.x));
    const Tensor dx = std::get<0>(gradient(in[0], x, in[1], true));
    out[0].copy_(window.is_even() ? dx : window.cropped(dx));
  };
}

Run make_weight_gradient(const Node& node) {
  const Gradient gradient = gradient_of(node, node.input_dims(0), node.output_dims(0));
  return [gradient](const Tensors& in, const Tensors& out) {
    const Window& window = gradient.window;
    const Tensor x = window.is_even() ? in[0] : window.padded(in[0], 0);
    const Tensor w = at::empty({1}, x.options()).expand(gradient.w);
    out[0].copy_(std::get<1>(gradient(in[1], x, w, false)));
  };
}

constexpr Operator kConvolutions[] = {
    {"Conv", refuses_conv, make_conv},
    {"ConvGradInput", refuses_gradient, make_input_gradient},
    {"ConvGradWeight", refuses_gradient, make_weight_gradient},
    {"ConvTranspose", refuses_transposed, make_transposed},
    {"FusedConv", refuses_conv, make_conv},
};

}  // namespace

std::span<const Operator> convolution_operators() {
  return kConvolutions;
}

}  // namespace trainyard::torch_plugin
