// Functions of one, two and more numbers, and the gradients of activations.
#include <limits>

#include "engine/kernels/torch/plugin/activation.h"

namespace trainyard::torch_plugin {
namespace {

Run make_unary(const Node& node) {
  const Activation f = activation_named(node.op(), node.attr_float("scalar_alpha", 0),
                                        node.attr_float("scalar_beta", 0));
  return [f](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    f(y, in[0]);
  };
}

constexpr double kLowest = std::numeric_limits<float>::lowest();
constexpr double kHighest = std::numeric_limits<float>::max();

const char* refuses_clip(const Node& node) {
  if (const char* reason = refuses_unless_f32(node); *reason != 0) return reason;
  for (size_t i = 1; i < 3; ++i) {
    if (node.has_input(i) && !node.is_known(i)) return "the bounds are not known before the run";
  }
  return "";
}

Run make_clip(const Node& node) {
  const Activation f =
      activation_named("Clip", node.known_number(1, kLowest), node.known_number(2, kHighest));
  return [f](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    f(y, in[0]);
  };
}

// Whole numbers wrap around in both, but ONNX divides and takes powers of them in ways of its own.
const char* refuses_mixed(const Node& node) {
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (node.input(i).type != node.input(0).type) return "operands of several types";
  }
  const int32_t type = node.input(0).type;
  const bool exact = node.op() == "Add" || node.op() == "Sub" || node.op() == "Mul";
  if (type == kTorchF32 || (exact && (type == kTorchI64 || type == kTorchI32))) return "";
  return "only f32 is implemented";
}

using Binary = Tensor& (*)(Tensor&, const Tensor&, const Tensor&);

template <Binary kFunction>
Run make_binary(const Node&) {
  return [](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    kFunction(y, in[0], in[1]);
  };
}

Tensor& add(Tensor& y, const Tensor& a, const Tensor& b) {
  return at::add_out(y, a, b);
}
Tensor& sub(Tensor& y, const Tensor& a, const Tensor& b) {
  return at::sub_out(y, a, b);
}
Tensor& mul(Tensor& y, const Tensor& a, const Tensor& b) {
  return at::mul_out(y, a, b);
}
Tensor& div(Tensor& y, const Tensor& a, const Tensor& b) {
  return at::div_out(y, a, b);
}
Tensor& pow(Tensor& y, const Tensor& a, const Tensor& b) {
  return at::pow_out(y, a, b);
}
Tensor& less(Tensor& y, const Tensor& a, const Tensor& b) {
  return at::lt_out(y, a, b);
}
Tensor& less_equal(Tensor& y, const Tensor& a, const Tensor& b) {
  return at::le_out(y, a, b);
}
Tensor& greater(Tensor& y, const Tensor& a, const Tensor& b) {
  return at::gt_out(y, a, b);
}
Tensor& greater_equal(Tensor& y, const Tensor& a, const Tensor& b) {
  return at::ge_out(y, a, b);
}
Tensor& equal(Tensor& y, const Tensor& a, const Tensor& b) {
  return at::eq_out(y, a, b);
}
Tensor& both(Tensor& y, const Tensor& a, const Tensor& b) {
  return at::logical_and_out(y, a, b);
}
Tensor& either(Tensor& y, const Tensor& a, const Tensor& b) {
  return at::logical_or_out(y, a, b);
}

const char* refuses_comparison(const Node& node) {
  return node.input(0).type == node.input(1).type ? "" : "operands of several types";
}

// Of any number of operands, from the left.
template <Binary kFunction, bool kMean = false>
Run make_variadic(const Node& node) {
  const auto count = static_cast<double>(node.num_inputs());
  return [count](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    if (in.size() == 1) {
      y.copy_(in[0]);
      return;
    }
    kFunction(y, in[0], in[1]);
    for (size_t i = 2; i < in.size(); ++i) kFunction(y, y, in[i]);
    if (kMean) y.div_(count);
  };
}

// Of a first pair that is smaller than the result, y would have the wrong shape.
const char* refuses_stretched(const Node& node) {
  if (const char* reason = refuses_unless_f32(node); *reason != 0) return reason;
  if (node.num_inputs() <= 2) return "";
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (node.input_dims(i) != node.output_dims(0)) return "more than two operands are stretched";
  }
  return "";
}

Tensor& larger(Tensor& y, const Tensor& a, const Tensor& b) {
  return at::maximum_out(y, a, b);
}
Tensor& smaller(Tensor& y, const Tensor& a, const Tensor& b) {
  return at::minimum_out(y, a, b);
}

const char* refuses_where(const Node& node) {
  return node.input(1).type == node.input(2).type ? "" : "operands of several types";
}

Run make_where(const Node&) {
  return
      [](const Tensors& in, const Tensors& out) { out[0].copy_(at::where(in[0], in[1], in[2])); };
}

Run make_prelu(const Node&) {
  return [](const Tensors& in, const Tensors& out) {
    out[0].copy_(at::where(in[0].ge(0), in[0], at::mul(in[0], in[1])));
  };
}

const char* refuses_not(const Node&) {
  return "";
}

Run make_not(const Node&) {
  return [](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    at::logical_not_out(y, in[0]);
  };
}

bool is_real(int32_t type) {
  return type == kTorchF32 || type == kTorchF64 || type == kTorchF16 || type == kTorchBF16;
}

// What is too large for whole numbers is cut off by ONNX, and anything by the processor.
const char* refuses_cast(const Node& node) {
  const bool narrows = is_real(node.input(0).type) && !is_real(node.output(0).type);
  return narrows && node.output(0).type != kTorchBool ? "floats to whole numbers" : "";
}

Run make_cast(const Node&) {
  return [](const Tensors& in, const Tensors& out) { out[0].copy_(in[0]); };
}

// --- gradients of activations: from y, but for Gelu

Run make_relu_grad(const Node&) {
  return [](const Tensors& in, const Tensors& out) {
    Tensor dx = out[0];
    at::threshold_backward_out(dx, in[1], in[0], 0);
  };
}

Run make_clip_grad(const Node& node) {
  const double low = node.known_number(2, kLowest);
  const double high = node.known_number(3, kHighest);
  return [low, high](const Tensors& in, const Tensors& out) {
    Tensor dx = out[0];
    at::mul_out(dx, in[1], in[0].gt(low).logical_and_(in[0].lt(high)));
  };
}

const char* refuses_clip_grad(const Node& node) {
  if (const char* reason = refuses_unless_f32(node); *reason != 0) return reason;
  for (size_t i = 2; i < 4; ++i) {
    if (node.has_input(i) && !node.is_known(i)) return "the bounds are not known before the run";
  }
  return "";
}

Run make_sigmoid_grad(const Node&) {
  return [](const Tensors& in, const Tensors& out) {
    Tensor dx = out[0];
    at::sigmoid_backward_out(dx, in[1], in[0]);
  };
}

Run make_tanh_grad(const Node&) {
  return [](const Tensors& in, const Tensors& out) {
    Tensor dx = out[0];
    at::tanh_backward_out(dx, in[1], in[0]);
  };
}

Run make_gelu_grad(const Node& node) {
  const std::string approximate(node.attr_text("approximate", "none"));
  return [approximate](const Tensors& in, const Tensors& out) {
    Tensor dx = out[0];
    at::gelu_backward_out(dx, in[1], in[0], approximate);
  };
}

constexpr Operator unary(const char* op) {
  return {op, refuses_unless_f32, make_unary};
}

constexpr Operator kElementwise[] = {
    unary("Abs"),
    unary("Acos"),
    unary("Acosh"),
    unary("Asin"),
    unary("Asinh"),
    unary("Atan"),
    unary("Atanh"),
    unary("Ceil"),
    unary("Celu"),
    unary("Cos"),
    unary("Cosh"),
    unary("Elu"),
    unary("Erf"),
    unary("Exp"),
    unary("Floor"),
    unary("Gelu"),
    unary("HardSigmoid"),
    unary("HardSwish"),
    unary("LeakyRelu"),
    unary("Log"),
    unary("Mish"),
    unary("Neg"),
    unary("Reciprocal"),
    unary("Relu"),
    unary("Round"),
    unary("Selu"),
    unary("Sigmoid"),
    unary("Sign"),
    unary("Sin"),
    unary("Sinh"),
    unary("Softplus"),
    unary("Softsign"),
    unary("Sqrt"),
    unary("Swish"),
    unary("Tan"),
    unary("Tanh"),
    unary("ThresholdedRelu"),
    {"Add", refuses_mixed, make_binary<add>},
    {"And", refuses_comparison, make_binary<both>},
    {"Cast", refuses_cast, make_cast},
    {"CastLike", refuses_cast, make_cast},
    {"Clip", refuses_clip, make_clip},
    {"ClipGrad", refuses_clip_grad, make_clip_grad},
    {"Div", refuses_mixed, make_binary<div>},
    {"Equal", refuses_comparison, make_binary<equal>},
    {"GeluGrad", refuses_unless_f32, make_gelu_grad},
    {"Greater", refuses_comparison, make_binary<greater>},
    {"GreaterOrEqual", refuses_comparison, make_binary<greater_equal>},
    {"Less", refuses_comparison, make_binary<less>},
    {"LessOrEqual", refuses_comparison, make_binary<less_equal>},
    {"Max", refuses_stretched, make_variadic<larger>},
    {"Mean", refuses_stretched, make_variadic<add, true>},
    {"Min", refuses_stretched, make_variadic<smaller>},
    {"Mul", refuses_mixed, make_binary<mul>},
    {"Not", refuses_not, make_not},
    {"Or", refuses_comparison, make_binary<either>},
    {"PRelu", refuses_unless_f32, make_prelu},
    {"Pow", refuses_mixed, make_binary<pow>},
    {"ReluGrad", refuses_unless_f32, make_relu_grad},
    {"SigmoidGrad", refuses_unless_f32, make_sigmoid_grad},
    {"Sub", refuses_mixed, make_binary<sub>},
    {"Sum", refuses_stretched, make_variadic<add>},
    {"TanhGrad", refuses_unless_f32, make_tanh_grad},
    {"Where", refuses_where, make_where},
};

}  // namespace

std::span<const Operator> elementwise_operators() {
  return kElementwise;
}

}  // namespace trainyard::torch_plugin
