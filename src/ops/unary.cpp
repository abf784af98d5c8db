// The family y = f(x), element by element: activations and elementary functions.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/op_def.h"
#include "ops/scalar_functions.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kAlpha[] = {{"alpha", AttrKind::kFloat}};
constexpr AttrSpec kAlphaBeta[] = {{"alpha", AttrKind::kFloat}, {"beta", AttrKind::kFloat}};

constexpr UnaryFunction kFunctions[] = {
    {.op = "Elu",
     .apply = [](double x, double a, double) { return x > 0 ? x : a * std::expm1(x); },
     .alpha = 1.0,
     .flops = 3},
    {.op = "Exp", .apply = [](double x, double, double) { return std::exp(x); }},
    {.op = "HardSigmoid",
     .apply = [](double x, double a, double b) { return std::clamp(a * x + b, 0.0, 1.0); },
     .alpha = 0.2F,
     .beta = 0.5,
     .flops = 4},
    {.op = "LeakyRelu",
     .apply = [](double x, double a, double) { return x >= 0 ? x : a * x; },
     .alpha = 0.01F,
     .flops = 2},
    {.op = "Neg", .apply = [](double x, double, double) { return -x; }},
    {.op = "Relu", .apply = [](double x, double, double) { return x > 0 ? x : 0 * x; }},
    {.op = "Sigmoid",
     .apply = [](double x, double, double) { return 1 / (1 + std::exp(-x)); },
     .flops = 4},
    {.op = "Softplus",
     .apply = [](double x, double,
                 double) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); },
     .flops = 3},
    {.op = "Sqrt", .apply = [](double x, double, double) { return std::sqrt(x); }},
    {.op = "Tanh", .apply = [](double x, double, double) { return std::tanh(x); }, .flops = 4},
};

std::vector<TensorType> infer(const NodeView& node) {
  return {node.input_type(0)};
}

Cost cost(const NodeView& node) {
  return elementwise_cost(node, find_unary(node.op())->flops);
}

std::vector<Tensor> evaluate(const NodeView& node) {
  if (!all_inputs_constant(node)) return {};
  const UnaryFunction& f = *find_unary(node.op());
  const Tensor& x = *node.input_constant(0);
  Tensor y(DType::kF64, x.shape());
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    y.values<double>()[static_cast<size_t>(i)] =
        f.apply(element_as_double(x, i), unary_alpha(node), unary_beta(node));
  }
  std::vector<Tensor> outputs;
  outputs.push_back(cast(y, x.dtype()));
  return outputs;
}

constexpr OpDef unary(std::string_view name, OpKind kind,
                      std::span<const AttrSpec> attributes = {}) {
  return {.name = name,
          .kind = kind,
          .attributes = attributes,
          .infer = infer,
          .cost = cost,
          .evaluate = evaluate,
          .gradient = unary_gradient};
}

}  // namespace

const UnaryFunction* find_unary(std::string_view op) {
  for (const UnaryFunction& function : kFunctions) {
    if (function.op == op) return &function;
  }
  return nullptr;
}

double unary_alpha(const NodeView& node) {
  return node.attr_float("alpha", static_cast<float>(find_unary(node.op())->alpha));
}

double unary_beta(const NodeView& node) {
  return node.attr_float("beta", static_cast<float>(find_unary(node.op())->beta));
}

extern const OpDef kElu = unary("Elu", OpKind::kActivation, kAlpha);
extern const OpDef kExp = unary("Exp", OpKind::kElementwise);
extern const OpDef kHardSigmoid = unary("HardSigmoid", OpKind::kActivation, kAlphaBeta);
extern const OpDef kLeakyRelu = unary("LeakyRelu", OpKind::kActivation, kAlpha);
extern const OpDef kNeg = unary("Neg", OpKind::kElementwise);
extern const OpDef kRelu = unary("Relu", OpKind::kActivation);
extern const OpDef kSigmoid = unary("Sigmoid", OpKind::kActivation);
extern const OpDef kSoftplus = unary("Softplus", OpKind::kActivation);
extern const OpDef kSqrt = unary("Sqrt", OpKind::kElementwise);
extern const OpDef kTanh = unary("Tanh", OpKind::kActivation);

}  // namespace trainyard::ops
