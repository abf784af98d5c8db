// Gradients of the family y = f(x). Where the derivative can be had from y, x may be freed after
// forward.
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/scalar_functions.h"

namespace trainyard::ops {
namespace {

// f'(x), times dy.
using Rule = ValueId (*)(GradContext&);

ValueId times_dy(GradContext& grad, ValueId derivative) {
  return grad.add("Mul", {grad.dy(), derivative});
}

ValueId alpha(GradContext& grad) {
  return grad.scalar(static_cast<float>(unary_alpha(grad.node())));
}

// 1 + sign * v * v
ValueId one_plus_square(GradContext& grad, ValueId v, float sign) {
  const ValueId square = grad.add("Mul", {v, v});
  return grad.add(sign > 0 ? "Add" : "Sub", {grad.scalar(1), square});
}

// dy where x > 0, otherwise dy * slope.
ValueId split_at_zero(GradContext& grad, ValueId slope) {
  const ValueId positive = grad.add("Greater", {grad.x(0), grad.scalar(0)});
  return grad.add("Where", {positive, grad.dy(), times_dy(grad, slope)});
}

struct Row {
  std::string_view op;
  Rule rule;
};

constexpr Row kRules[] = {
    {"Abs", [](GradContext& g) { return times_dy(g, g.add("Sign", {g.x(0)})); }},
    {"Atan",
     [](GradContext& g) {
       return g.add("Div", {g.dy(), one_plus_square(g, g.x(0), 1)});
     }},
    {"Cos", [](GradContext& g) { return g.add("Neg", {times_dy(g, g.add("Sin", {g.x(0)}))}); }},
    {"Elu",
     [](GradContext& g) {
       return split_at_zero(g, g.add("Add", {g.y(), alpha(g)}));
     }},
    {"Erf",
     [](GradContext& g) {
       constexpr float kTwoOverRootPi = 1.1283791670955126F;
       const ValueId square = g.add("Mul", {g.x(0), g.x(0)});
       const ValueId bell = g.add("Exp", {g.add("Neg", {square})});
       return times_dy(g, g.add("Mul", {bell, g.scalar(kTwoOverRootPi)}));
     }},
    {"Exp", [](GradContext& g) { return times_dy(g, g.y()); }},
    {"LeakyRelu", [](GradContext& g) { return split_at_zero(g, alpha(g)); }},
    {"Log",
     [](GradContext& g) {
       return g.add("Div", {g.dy(), g.x(0)});
     }},
    {"Neg", [](GradContext& g) { return g.add("Neg", {g.dy()}); }},
    {"Reciprocal",
     [](GradContext& g) {
       return g.add("Neg", {times_dy(g, g.add("Mul", {g.y(), g.y()}))});
     }},
    {"Relu",
     [](GradContext& g) {
       return g.add("ReluGrad", {g.y(), g.dy()});
     }},
    {"Sigmoid",
     [](GradContext& g) {
       return times_dy(g, g.add("Mul", {g.y(), g.add("Sub", {g.scalar(1), g.y()})}));
     }},
    {"Sin", [](GradContext& g) { return times_dy(g, g.add("Cos", {g.x(0)})); }},
    {"Softplus", [](GradContext& g) { return times_dy(g, g.add("Sigmoid", {g.x(0)})); }},
    {"Sqrt",
     [](GradContext& g) {
       return g.add("Div", {g.add("Mul", {g.dy(), g.scalar(0.5F)}), g.y()});
     }},
    {"Tanh", [](GradContext& g) { return times_dy(g, one_plus_square(g, g.y(), -1)); }},
};

}  // namespace

std::vector<ValueId> unary_gradient(GradContext& grad) {
  const std::string op = grad.node().op();
  for (const Row& row : kRules) {
    if (row.op == op) return {row.rule(grad)};
  }
  throw_error("it has no gradient rule");
}

}  // namespace trainyard::ops
