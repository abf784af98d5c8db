#include "engine/kernels/torch/plugin/activation.h"

namespace trainyard::torch_plugin {
namespace {

struct Function {
  std::string_view op;
  void (*f)(Tensor& out, const Tensor& x, double a, double b);
};

// The two numbers are those of ops/math/unary.cpp.
constexpr Function kFunctions[] = {
    {"Abs", [](Tensor& y, const Tensor& x, double, double) { at::abs_out(y, x); }},
    {"Acos", [](Tensor& y, const Tensor& x, double, double) { at::acos_out(y, x); }},
    {"Acosh", [](Tensor& y, const Tensor& x, double, double) { at::acosh_out(y, x); }},
    {"Asin", [](Tensor& y, const Tensor& x, double, double) { at::asin_out(y, x); }},
    {"Asinh", [](Tensor& y, const Tensor& x, double, double) { at::asinh_out(y, x); }},
    {"Atan", [](Tensor& y, const Tensor& x, double, double) { at::atan_out(y, x); }},
    {"Atanh", [](Tensor& y, const Tensor& x, double, double) { at::atanh_out(y, x); }},
    {"Ceil", [](Tensor& y, const Tensor& x, double, double) { at::ceil_out(y, x); }},
    {"Celu", [](Tensor& y, const Tensor& x, double a, double) { y.copy_(at::celu(x, a)); }},
    {"Clip", [](Tensor& y, const Tensor& x, double a, double b) { at::clamp_out(y, x, a, b); }},
    {"Cos", [](Tensor& y, const Tensor& x, double, double) { at::cos_out(y, x); }},
    {"Cosh", [](Tensor& y, const Tensor& x, double, double) { at::cosh_out(y, x); }},
    {"Elu", [](Tensor& y, const Tensor& x, double a, double) { at::elu_out(y, x, a); }},
    {"Erf", [](Tensor& y, const Tensor& x, double, double) { at::erf_out(y, x); }},
    {"Exp", [](Tensor& y, const Tensor& x, double, double) { at::exp_out(y, x); }},
    {"Floor", [](Tensor& y, const Tensor& x, double, double) { at::floor_out(y, x); }},
    {"Gelu",
     [](Tensor& y, const Tensor& x, double a, double) {
       at::gelu_out(y, x, a != 0 ? "tanh" : "none");
     }},
    {"HardSigmoid",
     [](Tensor& y, const Tensor& x, double a, double b) {
       at::clamp_out(y, at::mul(x, a).add_(b), 0, 1);
     }},
    {"HardSwish",
     [](Tensor& y, const Tensor& x, double, double) { at::hardswish_out(y, x); }},
    {"LeakyRelu",
     [](Tensor& y, const Tensor& x, double a, double) { at::leaky_relu_out(y, x, a); }},
    {"Log", [](Tensor& y, const Tensor& x, double, double) { at::log_out(y, x); }},
    {"Mish", [](Tensor& y, const Tensor& x, double, double) { at::mish_out(y, x); }},
    {"Neg", [](Tensor& y, const Tensor& x, double, double) { at::neg_out(y, x); }},
    {"Reciprocal",
     [](Tensor& y, const Tensor& x, double, double) { at::reciprocal_out(y, x); }},
    {"Relu", [](Tensor& y, const Tensor& x, double, double) { at::clamp_min_out(y, x, 0); }},
    {"Round", [](Tensor& y, const Tensor& x, double, double) { at::round_out(y, x); }},
    {"Selu",
     [](Tensor& y, const Tensor& x, double a, double gamma) { at::elu_out(y, x, a, gamma); }},
    {"Sigmoid", [](Tensor& y, const Tensor& x, double, double) { at::sigmoid_out(y, x); }},
    {"Sign", [](Tensor& y, const Tensor& x, double, double) { at::sign_out(y, x); }},
    {"Sin", [](Tensor& y, const Tensor& x, double, double) { at::sin_out(y, x); }},
    {"Sinh", [](Tensor& y, const Tensor& x, double, double) { at::sinh_out(y, x); }},
    {"Softplus", [](Tensor& y, const Tensor& x, double, double) { at::softplus_out(y, x); }},
    {"Softsign",
     [](Tensor& y, const Tensor& x, double, double) { at::div_out(y, x, at::abs(x).add_(1)); }},
    {"Sqrt", [](Tensor& y, const Tensor& x, double, double) { at::sqrt_out(y, x); }},
    {"Swish",
     [](Tensor& y, const Tensor& x, double a, double) {
       if (a == 1) {
         at::silu_out(y, x);
       } else {
         at::mul_out(y, x, at::sigmoid(at::mul(x, a)));
       }
     }},
    {"Tan", [](Tensor& y, const Tensor& x, double, double) { at::tan_out(y, x); }},
    {"Tanh", [](Tensor& y, const Tensor& x, double, double) { at::tanh_out(y, x); }},
    {"ThresholdedRelu",
     [](Tensor& y, const Tensor& x, double a, double) { at::threshold_out(y, x, a, 0); }},
};

}  // namespace

Activation activation_named(std::string_view op, double alpha, double beta) {
  for (const Function& function : kFunctions) {
    if (function.op != op) continue;
    return [f = function.f, alpha, beta](Tensor& out, const Tensor& x) { f(out, x, alpha, beta); };
  }
  return nullptr;
}

Activation activation_of(const Node& node) {
  const std::string_view op = node.attr_text("activation", "");
  if (op.empty()) return [](Tensor& out, const Tensor& x) { out.copy_(x); };
  return activation_named(op, node.attr_float("activation_alpha", 0),
                          node.attr_float("activation_beta", 0));
}

const char* refuses_activation(const Node& node) {
  return activation_of(node) ? "" : "the activation is not implemented";
}

}  // namespace trainyard::torch_plugin
