// Gradients of the family y = f(x). Where the derivative can be had from y, x may be freed after
// forward.
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/math/scalar_functions.h"

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

// dy where `condition` holds, otherwise 0.
ValueId where(GradContext& grad, ValueId condition) {
  return grad.add("Where", {condition, grad.dy(), grad.scalar(0)});
}

// dy / sqrt(x * x + offset)
ValueId over_root(GradContext& grad, double offset) {
  const ValueId square = grad.add("Mul", {grad.x(0), grad.x(0)});
  const ValueId root = grad.add("Sqrt", {grad.add("Add", {square, grad.scalar(offset)})});
  return grad.add("Div", {grad.dy(), root});
}

// dy / sqrt(1 - x * x)
ValueId over_circle(GradContext& grad) {
  return grad.add("Div", {grad.dy(), grad.add("Sqrt", {one_plus_square(grad, grad.x(0), -1)})});
}

// y = x * h, h = clip(x / 6 + 1/2): h + x / 6 where h is strictly inside, else h.
ValueId hard_swish(GradContext& grad) {
  const ValueId h = grad.add("HardSigmoid", {grad.x(0)}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}});
  const ValueId slope = times_dy(grad, grad.add("Div", {grad.x(0), grad.scalar(6)}));
  const ValueId inside = grad.add("ClipGrad", {h, slope, grad.scalar(0), grad.scalar(1)});
  return grad.add("Add", {times_dy(grad, h), inside});
}

// y = x * t, t = tanh(softplus(x)): t + x * sigmoid(x) * (1 - t * t).
ValueId mish(GradContext& grad) {
  const ValueId t = grad.add("Tanh", {grad.add("Softplus", {grad.x(0)})});
  const ValueId swish = grad.add("Mul", {grad.x(0), grad.add("Sigmoid", {grad.x(0)})});
  const ValueId inner = grad.add("Mul", {swish, one_plus_square(grad, t, -1)});
  return times_dy(grad, grad.add("Add", {t, inner}));
}

// gamma where x > 0, otherwise gamma * alpha * exp(x) = y + gamma * alpha.
ValueId selu(GradContext& grad) {
  const double gamma = unary_beta(grad.node());
  const double below = gamma * unary_alpha(grad.node());
  const ValueId positive = grad.add("Greater", {grad.x(0), grad.scalar(0)});
  const ValueId slope = grad.add("Add", {grad.y(), grad.scalar(below)});
  return times_dy(grad, grad.add("Where", {positive, grad.scalar(gamma), slope}));
}

// y = x * s, s = sigmoid(alpha * x): s + alpha * x * s * (1 - s) = s + alpha * y * (1 - s).
ValueId swish(GradContext& grad) {
  const ValueId s = grad.add("Sigmoid", {grad.add("Mul", {grad.x(0), alpha(grad)})});
  const ValueId rest = grad.add("Mul", {grad.add("Sub", {grad.scalar(1), s}), grad.y()});
  return times_dy(grad, grad.add("Add", {s, grad.add("Mul", {rest, alpha(grad)})}));
}

struct Row {
  std::string_view op;
  Rule rule;
};

constexpr Row kRules[] = {
    {"Abs", [](GradContext& g) { return times_dy(g, g.add("Sign", {g.x(0)})); }},
    {"Acos", [](GradContext& g) { return g.add("Neg", {over_circle(g)}); }},
    {"Acosh", [](GradContext& g) { return over_root(g, -1); }},
    {"Asin", over_circle},
    {"Asinh", [](GradContext& g) { return over_root(g, 1); }},
    {"Atan",
     [](GradContext& g) {
       return g.add("Div", {g.dy(), one_plus_square(g, g.x(0), 1)});
     }},
    {"Atanh",
     [](GradContext& g) {
       return g.add("Div", {g.dy(), one_plus_square(g, g.x(0), -1)});
     }},
    {"Celu",
     [](GradContext& g) {
       const ValueId ratio = g.add("Div", {g.y(), alpha(g)});
       return split_at_zero(g, g.add("Add", {ratio, g.scalar(1)}));
     }},
    {"Cos", [](GradContext& g) { return g.add("Neg", {times_dy(g, g.add("Sin", {g.x(0)}))}); }},
    {"Cosh", [](GradContext& g) { return times_dy(g, g.add("Sinh", {g.x(0)})); }},
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
    {"Gelu",
     [](GradContext& g) {
       return g.add("GeluGrad", {g.x(0), g.dy()}, g.attributes());
     }},
    {"HardSigmoid",
     [](GradContext& g) {
       return g.add("ClipGrad", {g.y(), times_dy(g, alpha(g)), g.scalar(0), g.scalar(1)});
     }},
    {"HardSwish", hard_swish},
    {"LeakyRelu", [](GradContext& g) { return split_at_zero(g, alpha(g)); }},
    {"Log",
     [](GradContext& g) {
       return g.add("Div", {g.dy(), g.x(0)});
     }},
    {"Mish", mish},
    {"Neg", [](GradContext& g) { return g.add("Neg", {g.dy()}); }},
    {"Reciprocal",
     [](GradContext& g) {
       return g.add("Neg", {times_dy(g, g.add("Mul", {g.y(), g.y()}))});
     }},
    {"Relu",
     [](GradContext& g) {
       return g.add("ReluGrad", {g.y(), g.dy()});
     }},
    {"Selu", selu},
    {"Shrink",
     [](GradContext& g) {
       const ValueId limit = g.scalar(unary_beta(g.node()));
       return where(g, g.add("Greater", {g.add("Abs", {g.x(0)}), limit}));
     }},
    {"Sigmoid",
     [](GradContext& g) {
       return g.add("SigmoidGrad", {g.y(), g.dy()});
     }},
    {"Sin", [](GradContext& g) { return times_dy(g, g.add("Cos", {g.x(0)})); }},
    {"Sinh", [](GradContext& g) { return times_dy(g, g.add("Cosh", {g.x(0)})); }},
    {"Softplus", [](GradContext& g) { return times_dy(g, g.add("Sigmoid", {g.x(0)})); }},
    {"Softsign",
     [](GradContext& g) {
       const ValueId size = g.add("Add", {g.add("Abs", {g.x(0)}), g.scalar(1)});
       return g.add("Div", {g.dy(), g.add("Mul", {size, size})});
     }},
    {"Sqrt",
     [](GradContext& g) {
       return g.add("Div", {g.add("Mul", {g.dy(), g.scalar(0.5F)}), g.y()});
     }},
    {"Swish", swish},
    {"Tan", [](GradContext& g) { return times_dy(g, one_plus_square(g, g.y(), 1)); }},
    {"Tanh",
     [](GradContext& g) {
       return g.add("TanhGrad", {g.y(), g.dy()});
     }},
    {"ThresholdedRelu",
     [](GradContext& g) {
       return where(g, g.add("Greater", {g.x(0), alpha(g)}));
     }},
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
