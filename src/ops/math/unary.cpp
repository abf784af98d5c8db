// The family y = f(x), element by element: activations, elementary functions and predicates.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/error.h"
#include "ops/math/scalar_functions.h"
#include "ops/op_def.h"
#include "tensor/dispatch.h"

namespace trainyard::ops {
namespace {

using D = double;

constexpr AttrSpec kAlpha[] = {{"alpha", AttrKind::kFloat}};
constexpr AttrSpec kApproximate[] = {{"approximate", AttrKind::kText}};
constexpr AttrSpec kAlphaBeta[] = {{"alpha", AttrKind::kFloat}, {"beta", AttrKind::kFloat}};
constexpr AttrSpec kAlphaGamma[] = {{"alpha", AttrKind::kFloat}, {"gamma", AttrKind::kFloat}};
constexpr AttrSpec kShrinkAttributes[] = {{"bias", AttrKind::kFloat}, {"lambd", AttrKind::kFloat}};
constexpr AttrSpec kIsInfAttributes[] = {{"detect_negative", AttrKind::kInt},
                                         {"detect_positive", AttrKind::kInt}};

// log(1 + e^x) without overflow for large x.
D softplus(D x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}

// ONNX's formulas with its default attributes. `alpha` and `beta` are the first and second
// attribute, whatever their names; those of f32 in ONNX are given as such, since the nearest double
// differs. `flops` is what cost models count per element.
constexpr UnaryFunction kUnaryFunctions[] = {
    {.op = "Abs",
     .real = [](D x, D, D) { return std::fabs(x); },
     .whole = [](Whole x) { return x < 0 ? -x : x; }},
    {.op = "Acos", .real = [](D x, D, D) { return std::acos(x); }},
    {.op = "Acosh", .real = [](D x, D, D) { return std::acosh(x); }},
    {.op = "Asin", .real = [](D x, D, D) { return std::asin(x); }},
    {.op = "Asinh", .real = [](D x, D, D) { return std::asinh(x); }},
    {.op = "Atan", .real = [](D x, D, D) { return std::atan(x); }},
    {.op = "Atanh", .real = [](D x, D, D) { return std::atanh(x); }},
    {.op = "BitwiseNot", .real = nullptr, .whole = [](Whole x) { return ~x; }},
    {.op = "Ceil", .real = [](D x, D, D) { return std::ceil(x); }},
    {.op = "Celu",
     .real = [](D x, D a, D) { return x > 0 ? x : a * std::expm1(x / a); },
     .alpha = 1.0,
     .flops = 4},
    {.op = "Cos", .real = [](D x, D, D) { return std::cos(x); }},
    {.op = "Cosh", .real = [](D x, D, D) { return std::cosh(x); }},
    {.op = "Elu",
     .real = [](D x, D a, D) { return x > 0 ? x : a * std::expm1(x); },
     .alpha = 1.0,
     .flops = 3},
    {.op = "Erf", .real = [](D x, D, D) { return std::erf(x); }},
    {.op = "Exp", .real = [](D x, D, D) { return std::exp(x); }},
    {.op = "Floor", .real = [](D x, D, D) { return std::floor(x); }},
    // By the error function, or by its approximation with tanh.
    {.op = "Gelu",
     .real =
         [](D x, D approximate, D) {
           constexpr D kRootHalf = 0.70710678118654752;
           constexpr D kRootTwoOverPi = 0.79788456080286536;
           const D f = approximate != 0 ? std::tanh(kRootTwoOverPi * (x + 0.044715 * x * x * x))
                                        : std::erf(x * kRootHalf);
           return 0.5 * x * (1 + f);
         },
     .alpha_name = "approximate",
     .flops = 5},
    {.op = "HardSigmoid",
     .real = [](D x, D a, D b) { return std::clamp(a * x + b, 0.0, 1.0); },
     .alpha = 0.2F,
     .beta = 0.5,
     .flops = 4},
    {.op = "HardSwish",
     .real = [](D x, D, D) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); },
     .flops = 5},
    {.op = "IsInf",
     .real = [](D x, D negative,
                D positive) { return D(std::isinf(x) && (x < 0 ? negative : positive) != 0); },
     .alpha = 1.0,
     .beta = 1.0,
     .alpha_name = "detect_negative",
     .beta_name = "detect_positive",
     .gives_bool = true},
    {.op = "IsNaN", .real = [](D x, D, D) { return D(std::isnan(x)); }, .gives_bool = true},
    {.op = "LeakyRelu",
     .real = [](D x, D a, D) { return x >= 0 ? x : a * x; },
     .alpha = 0.01F,
     .flops = 2},
    {.op = "Log", .real = [](D x, D, D) { return std::log(x); }},
    {.op = "Mish", .real = [](D x, D, D) { return x * std::tanh(softplus(x)); }, .flops = 5},
    {.op = "Neg", .real = [](D x, D, D) { return -x; }, .whole = [](Whole x) { return -x; }},
    {.op = "Not",
     .real = nullptr,
     .whole = [](Whole x) { return Whole(x == 0); },
     .gives_bool = true},
    {.op = "Reciprocal", .real = [](D x, D, D) { return 1 / x; }},
    // Compared this way round, what is not a number stays.
    {.op = "Relu",
     .real = [](D x, D, D) { return x <= 0 ? 0 : x; },
     .whole = [](Whole x) { return x > 0 ? x : 0; }},
    // To the nearest, ties to even, as the default rounding mode has it.
    {.op = "Round", .real = [](D x, D, D) { return std::nearbyint(x); }},
    {.op = "Selu",
     .real = [](D x, D a, D gamma) { return gamma * (x > 0 ? x : a * std::expm1(x)); },
     .alpha = 1.67326319217681884765625,
     .beta = 1.05070102214813232421875,
     .beta_name = "gamma",
     .flops = 4},
    {.op = "Shrink",
     .real = [](D x, D bias,
                D lambda) { return x < -lambda ? x + bias : (x > lambda ? x - bias : 0.0); },
     .alpha = 0.0,
     .beta = 0.5,
     .alpha_name = "bias",
     .beta_name = "lambd",
     .flops = 3},
    {.op = "Sigmoid", .real = [](D x, D, D) { return 1 / (1 + std::exp(-x)); }, .flops = 4},
    {.op = "Sign",
     .real = [](D x, D, D) { return std::isnan(x) ? x : D((x > 0) - (x < 0)); },
     .whole = [](Whole x) { return Whole((x > 0) - (x < 0)); }},
    {.op = "Sin", .real = [](D x, D, D) { return std::sin(x); }},
    {.op = "Sinh", .real = [](D x, D, D) { return std::sinh(x); }},
    {.op = "Softplus", .real = [](D x, D, D) { return softplus(x); }, .flops = 3},
    {.op = "Softsign", .real = [](D x, D, D) { return x / (1 + std::fabs(x)); }, .flops = 3},
    {.op = "Sqrt", .real = [](D x, D, D) { return std::sqrt(x); }},
    {.op = "Swish",
     .real = [](D x, D a, D) { return x / (1 + std::exp(-a * x)); },
     .alpha = 1.0,
     .flops = 5},
    {.op = "Tan", .real = [](D x, D, D) { return std::tan(x); }},
    {.op = "Tanh", .real = [](D x, D, D) { return std::tanh(x); }, .flops = 4},
    {.op = "ThresholdedRelu", .real = [](D x, D a, D) { return x > a ? x : 0.0; }, .alpha = 1.0},
};

// Attributes of any kind as a number: "tanh" of Gelu's `approximate` is 1.
double attr_number(const NodeView& node, std::string_view name, double fallback) {
  const auto found = node.node().attributes.find(name);
  if (found == node.node().attributes.end()) return fallback;
  if (const auto* whole = std::get_if<int64_t>(&found->second)) return static_cast<D>(*whole);
  if (const auto* text = std::get_if<std::string>(&found->second)) {
    TY_REQUIRE(*text == "none" || *text == "tanh", "{} '{}' is not one of none, tanh", name, *text);
    return *text == "tanh" ? 1.0 : 0.0;
  }
  return node.attr_float(name, 0);
}

std::vector<TensorType> infer_unary(const NodeView& node) {
  const UnaryFunction& f = *find_unary(node.op());
  const TensorType& x = node.input_type(0);
  (void)unary_alpha(node);  // refuses a text it does not know
  TY_REQUIRE((is_float(x.dtype) ? f.real != nullptr : f.whole != nullptr),
             "it is not defined for elements of type {}", dtype_name(x.dtype));
  return {{f.gives_bool ? DType::kBool : x.dtype, x.shape}};
}

Cost cost_unary(const NodeView& node) {
  return elementwise_cost(node, find_unary(node.op())->flops);
}

// In double whatever the type, and rounded once.
template <typename X, typename Y>
void apply_unary(const UnaryFunction& f, double alpha, double beta, const TensorView& x,
                 const TensorView& y) {
  const int64_t count = x.num_elements();
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (kIsFloat<X>) {
      y.as<Y>()[i] = static_cast<Y>(f.real(x.as<X>()[i], alpha, beta));
    } else {
      y.as<Y>()[i] = static_cast<Y>(f.whole(x.as<X>()[i]));
    }
  }
}

Routine routine_unary(const NodeView& node) {
  const UnaryFunction& f = *find_unary(node.op());
  return [&f, alpha = unary_alpha(node), beta = unary_beta(node)](Views x, Views y) {
    for_type(x[0].dtype, [&]<typename T>(T) {
      f.gives_bool ? apply_unary<T, bool>(f, alpha, beta, x[0], y[0])
                   : apply_unary<T, T>(f, alpha, beta, x[0], y[0]);
    });
  };
}

constexpr OpDef unary(std::string_view name, OpKind kind,
                      std::span<const AttrSpec> attributes = {}) {
  return {.name = name,
          .kind = kind,
          .attributes = attributes,
          .infer = infer_unary,
          .cost = cost_unary,
          .routine = routine_unary,
          .gradient = unary_gradient,
          .saves = SavedTensors::kInput,
          .overwrites = true};
}

// The slope follows from the output.
constexpr OpDef saving_output(OpDef op, FusedBy fused_by = FusedBy::kNone) {
  op.saves = SavedTensors::kOutput;
  op.fused_by = fused_by;
  return op;
}

constexpr OpDef saving_nothing(OpDef op) {
  op.saves = SavedTensors::kNothing;
  return op;
}

constexpr OpDef fused(OpDef op, FusedBy fused_by) {
  op.fused_by = fused_by;
  return op;
}

// Constant but for jumps, or not a float.
constexpr OpDef step(std::string_view name, std::span<const AttrSpec> attributes = {}) {
  OpDef op = unary(name, OpKind::kElementwise, attributes);
  op.gradient = nullptr;
  op.no_gradient = NoGradient::kNever;
  return op;
}

constexpr OpDef activation(std::string_view name, std::span<const AttrSpec> attributes = {}) {
  return unary(name, OpKind::kActivation, attributes);
}

constexpr OpDef elementwise(std::string_view name, std::span<const AttrSpec> attributes = {}) {
  return unary(name, OpKind::kElementwise, attributes);
}

}  // namespace

// Null for other operators. The table is short, and nodes look it up when they are made.
const UnaryFunction* find_unary(std::string_view op) {
  for (const UnaryFunction& function : kUnaryFunctions) {
    if (function.op == op) return &function;
  }
  return nullptr;
}

double unary_alpha(const NodeView& node) {
  const UnaryFunction& f = *find_unary(node.op());
  return attr_number(node, f.alpha_name, f.alpha);
}

double unary_beta(const NodeView& node) {
  const UnaryFunction& f = *find_unary(node.op());
  return attr_number(node, f.beta_name, f.beta);
}

extern const OpDef kAbs = elementwise("Abs");
extern const OpDef kAcos = elementwise("Acos");
extern const OpDef kAcosh = elementwise("Acosh");
extern const OpDef kAsin = elementwise("Asin");
extern const OpDef kAsinh = elementwise("Asinh");
extern const OpDef kAtan = elementwise("Atan");
extern const OpDef kAtanh = elementwise("Atanh");
extern const OpDef kBitwiseNot = step("BitwiseNot");
extern const OpDef kCeil = step("Ceil");
extern const OpDef kCelu = saving_output(activation("Celu", kAlpha));
extern const OpDef kCos = elementwise("Cos");
extern const OpDef kCosh = elementwise("Cosh");
extern const OpDef kElu = saving_output(activation("Elu", kAlpha), FusedBy::kProducts);
extern const OpDef kErf = elementwise("Erf");
extern const OpDef kExp = saving_output(elementwise("Exp"));
extern const OpDef kFloor = step("Floor");
extern const OpDef kGelu = fused(activation("Gelu", kApproximate), FusedBy::kProducts);
extern const OpDef kHardSigmoid =
    saving_output(activation("HardSigmoid", kAlphaBeta), FusedBy::kProducts);
extern const OpDef kHardSwish = fused(activation("HardSwish"), FusedBy::kProducts);
extern const OpDef kIsInf = step("IsInf", kIsInfAttributes);
extern const OpDef kIsNaN = step("IsNaN");
extern const OpDef kLeakyRelu = saving_output(activation("LeakyRelu", kAlpha), FusedBy::kProducts);
extern const OpDef kLog = elementwise("Log");
extern const OpDef kMish = activation("Mish");
extern const OpDef kNeg = saving_nothing(elementwise("Neg"));
extern const OpDef kNot = step("Not");
extern const OpDef kReciprocal = saving_output(elementwise("Reciprocal"));
extern const OpDef kRelu = saving_output(activation("Relu"), FusedBy::kAll);
extern const OpDef kRound = step("Round");
extern const OpDef kSelu = saving_output(activation("Selu", kAlphaGamma));
extern const OpDef kShrink = activation("Shrink", kShrinkAttributes);
extern const OpDef kSigmoid = saving_output(activation("Sigmoid"), FusedBy::kProducts);
extern const OpDef kSign = step("Sign");
extern const OpDef kSin = elementwise("Sin");
extern const OpDef kSinh = elementwise("Sinh");
extern const OpDef kSoftplus = saving_output(activation("Softplus"), FusedBy::kProducts);
extern const OpDef kSoftsign = activation("Softsign");
extern const OpDef kSqrt = saving_output(elementwise("Sqrt"));
extern const OpDef kSwish = fused(activation("Swish", kAlpha), FusedBy::kProducts);
extern const OpDef kTan = elementwise("Tan");
extern const OpDef kTanh = saving_output(activation("Tanh"), FusedBy::kProducts);
extern const OpDef kThresholdedRelu = saving_output(activation("ThresholdedRelu", kAlpha));

}  // namespace trainyard::ops
