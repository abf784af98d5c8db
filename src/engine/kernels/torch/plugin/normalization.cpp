// Normalizations: over batches, layers and images.
#include "engine/kernels/torch/plugin/activation.h"

namespace trainyard::torch_plugin {
namespace {

constexpr double kEpsilon = 1e-5F;

// A number for each channel, beside x.
Tensor by_channel(const Tensor& values, const Tensor& x) {
  Ints dims(static_cast<size_t>(x.dim()), 1);
  dims[1] = values.numel();
  return values.view(dims);
}

Tensor normalized(const Tensor& x, const Tensor& scale, const Tensor& bias, const Tensor& mean,
                  const Tensor& variance, double epsilon) {
  return at::batch_norm(x, scale, bias, mean, variance, false, 0, epsilon, false);
}

const char* refuses_batch_norm(const Node& node) {
  if (const char* reason = refuses_unless_f32(node); *reason != 0) return reason;
  if (node.has_output(1)) return "it has more than one output";
  return node.input_rank(0) < 2 ? "it has no channels" : "";
}

Run make_batch_norm(const Node& node) {
  const double epsilon = node.attr_float("epsilon", kEpsilon);
  return [epsilon](const Tensors& in, const Tensors& out) {
    out[0].copy_(normalized(in[0], in[1], in[2], in[3], in[4], epsilon));
  };
}

const char* refuses_scale_shift(const Node& node) {
  if (const char* reason = refuses_unless_f32(node); *reason != 0) return reason;
  return refuses_activation(node);
}

Run make_scale_shift(const Node& node) {
  const bool activates = node.has_attr("activation");
  const Activation activate = activation_of(node);
  return [=](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    at::addcmul_out(y, by_channel(in[2], in[0]), in[0], by_channel(in[1], in[0]));
    if (activates) activate(y, y);
  };
}

// --- in training: see ops/nn/batch_norm_training.cpp

Ints all_but_channels(const Tensor& x) {
  Ints axes = {0};
  for (int64_t i = 2; i < x.dim(); ++i) axes.push_back(i);
  return axes;
}

const char* refuses_training(const Node& node) {
  if (const char* reason = refuses_unless_f32(node); *reason != 0) return reason;
  if (node.has_attr("all_images")) return "the statistics of all workers are taken on the host";
  return refuses_activation(node);
}

Run make_training(const Node& node) {
  const double epsilon = node.attr_float("epsilon", kEpsilon);
  const double momentum = node.attr_float("momentum", 0.9F);
  const bool fixed = node.attr_int("fixed_statistics", 0) != 0;
  const Activation activate = activation_of(node);
  return [=](const Tensors& in, const Tensors& out) {
    Tensor mean = in[3];
    Tensor variance = in[4];
    if (!fixed) std::tie(variance, mean) = at::var_mean(in[0], all_but_channels(in[0]), false);
    Tensor normal = normalized(in[0], in[1], in[2], mean, variance, epsilon);
    if (in.size() > 5 && in[5].defined()) normal.add_(in[5]);
    Tensor y = out[0];
    activate(y, normal);
    if (out[1].defined()) out[1].copy_(mean);
    if (out[2].defined()) out[2].copy_(variance);
    const double share = fixed ? 0 : 1 - momentum;
    // Each may be the memory of the number that it replaces.
    if (out[3].defined()) out[3].copy_(at::add(at::mul(in[3], 1 - share), mean, share));
    if (out[4].defined()) out[4].copy_(at::add(at::mul(in[4], 1 - share), variance, share));
  };
}

enum GradInput : size_t { kX, kScale, kMean, kVariance, kDy, kBias, kY, kMoreDy };

// Where the activation, a clamp, let numbers through.
struct Clamp {
  bool relu = false;
  bool clip = false;
  double low = 0;
  double high = 0;

  Tensor masked(const Tensor& dy, const Tensor& y) const {
    if (relu) return at::threshold_backward(dy, y, 0);
    return at::mul(dy, y.gt(low).logical_and_(y.lt(high)));
  }
};

Run make_training_gradient(const Node& node) {
  const double epsilon = node.attr_float("epsilon", kEpsilon);
  const bool fixed = node.attr_int("fixed_statistics", 0) != 0;
  const std::string_view op = node.attr_text("activation", "");
  const Clamp clamp = {op == "Relu", op == "Clip", node.attr_float("activation_alpha", 0),
                       node.attr_float("activation_beta", 0)};
  return [=](const Tensors& in, const Tensors& out) {
    const auto there = [&](size_t i) { return i < in.size() && in[i].defined(); };
    Tensor dy = there(kMoreDy) ? at::add(in[kDy], in[kMoreDy]) : in[kDy];
    if (clamp.relu || clamp.clip) {
      dy = clamp.masked(dy, there(kY) ? in[kY]
                                      : normalized(in[kX], in[kScale], in[kBias], in[kMean],
                                                   in[kVariance], epsilon));
    }
    const Tensor deviation = at::rsqrt(at::add(in[kVariance], epsilon));
    const auto [dx, dscale, dbias] = at::native_batch_norm_backward(
        dy, in[kX], in[kScale], in[kMean], in[kVariance], in[kMean], deviation, !fixed, epsilon,
        {out[0].defined(), out[1].defined(), out[2].defined()});
    const Tensor* results[] = {&dx, &dscale, &dbias, &dy};
    for (size_t i = 0; i < out.size(); ++i) {
      if (out[i].defined()) out[i].copy_(*results[i]);
    }
  };
}

// --- over the last dimensions of each row

Ints dims_from_axis(const Node& node) {
  const Ints dims = node.input_dims(0);
  const int64_t axis = node.attr_axis(-1, node.input_rank(0));
  return {dims.begin() + axis, dims.end()};
}

const char* refuses_layer_norm(const Node& node) {
  if (const char* reason = refuses_unless_f32(node); *reason != 0) return reason;
  for (size_t i = 1; i < 3; ++i) {
    if (node.has_input(i) && node.input_dims(i) != dims_from_axis(node)) {
      return "scales and biases that are stretched are not implemented";
    }
  }
  return "";
}

Run make_layer_norm(const Node& node) {
  const Ints dims = dims_from_axis(node);
  const double epsilon = node.attr_float("epsilon", kEpsilon);
  return [=](const Tensors& in, const Tensors& out) {
    const auto bias =
        in.size() > 2 && in[2].defined() ? c10::optional<Tensor>(in[2]) : c10::optional<Tensor>();
    const auto [y, mean, deviation] = at::native_layer_norm(in[0], dims, in[1], bias, epsilon);
    out[0].copy_(y);
    if (out.size() > 1 && out[1].defined()) out[1].copy_(mean.view(out[1].sizes()));
    if (out.size() > 2 && out[2].defined()) out[2].copy_(deviation.view(out[2].sizes()));
  };
}

Run make_rms_norm(const Node& node) {
  Ints axes;
  for (int64_t i = node.attr_axis(-1, node.input_rank(0)); i < node.input_rank(0); ++i) {
    axes.push_back(i);
  }
  const double epsilon = node.attr_float("epsilon", kEpsilon);
  return [=](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    const Tensor root = at::rsqrt(at::mean(at::square(in[0]), axes, true).add_(epsilon));
    at::mul_out(y, at::mul(in[0], root), in[1]);
  };
}

Run make_instance_norm(const Node& node) {
  const double epsilon = node.attr_float("epsilon", kEpsilon);
  return [epsilon](const Tensors& in, const Tensors& out) {
    out[0].copy_(at::instance_norm(in[0], in[1], in[2], c10::nullopt, c10::nullopt, true, 0,
                                   epsilon, false));
  };
}

constexpr Operator kNormalizations[] = {
    {"BatchNormGrad", refuses_training, make_training_gradient},
    {"BatchNormTraining", refuses_training, make_training},
    {"BatchNormalization", refuses_batch_norm, make_batch_norm},
    {"InstanceNormalization", refuses_unless_f32, make_instance_norm},
    {"LayerNormalization", refuses_layer_norm, make_layer_norm},
    {"RMSNormalization", refuses_unless_f32, make_rms_norm},
    {"ScaleShift", refuses_scale_shift, make_scale_shift},
};

}  // namespace

std::span<const Operator> normalization_operators() {
  return kNormalizations;
}

}  // namespace trainyard::torch_plugin
