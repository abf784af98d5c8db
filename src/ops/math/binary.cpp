// The family y = f(a, b), element by element with broadcasting: arithmetic, comparisons, logic.
#include <cmath>

#include "base/error.h"
#include "ops/gradient.h"
#include "ops/math/scalar_functions.h"
#include "ops/op_def.h"
#include "tensor/dispatch.h"
#include "tensor/walk.h"

namespace trainyard::ops {
namespace {

using D = double;
using W = Whole;

// A tensor that is added may be a bias that an exporter kept apart from its matrix product.
constexpr ParamRole kAddRoles[] = {ParamRole::kBias, ParamRole::kBias};
constexpr ParamRole kScaleRoles[] = {ParamRole::kWeight, ParamRole::kWeight};
constexpr ParamRole kSlopeRoles[] = {ParamRole::kNone, ParamRole::kWeight};

constexpr AttrSpec kModAttributes[] = {{"fmod", AttrKind::kInt}};
constexpr AttrSpec kShiftAttributes[] = {{"direction", AttrKind::kText, true}};

// Wraps as 64-bit arithmetic does; a negative exponent leaves a fraction, which is cut.
W whole_power(W base, W exponent) {
  if (exponent < 0) return base == 1 ? 1 : (base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0);
  uint64_t result = 1;
  auto factor = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0) result *= factor;
    factor *= factor;
  }
  return static_cast<int64_t>(result);
}

// The sign of the divisor, as in Python.
W floor_mod(W a, W b) {
  if (b == 0) return 0;
  const W rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

constexpr int kMostBits = 64;

// Integer division by zero has no answer; as in NumPy it gives zero.
constexpr BinaryFunction kBinaryFunctions[] = {
    {"Add", [](D a, D b) { return a + b; }, [](W a, W b) { return a + b; }},
    {"And", nullptr, [](W a, W b) { return W(a != 0 && b != 0); }, true},
    {"BitwiseAnd", nullptr, [](W a, W b) { return a & b; }},
    {"BitwiseOr", nullptr, [](W a, W b) { return a | b; }},
    {"BitwiseXor", nullptr, [](W a, W b) { return a ^ b; }},
    {"Div", [](D a, D b) { return a / b; }, [](W a, W b) { return b == 0 ? W{0} : a / b; }},
    {"Equal", [](D a, D b) { return D(a == b); }, [](W a, W b) { return W(a == b); }, true},
    {"Greater", [](D a, D b) { return D(a > b); }, [](W a, W b) { return W(a > b); }, true},
    {"GreaterOrEqual", [](D a, D b) { return D(a >= b); }, [](W a, W b) { return W(a >= b); },
     true},
    {"Less", [](D a, D b) { return D(a < b); }, [](W a, W b) { return W(a < b); }, true},
    {"LessOrEqual", [](D a, D b) { return D(a <= b); }, [](W a, W b) { return W(a <= b); }, true},
    {"Mul", [](D a, D b) { return a * b; },
     [](W a, W b) {
       const uint64_t product = static_cast<uint64_t>(a) * static_cast<uint64_t>(b);
       return W(product);
     }},
    {"Or", nullptr, [](W a, W b) { return W(a != 0 || b != 0); }, true},
    {"PRelu", [](D a, D b) { return a < 0 ? a * b : a; },
     [](W a, W b) { return a < 0 ? a * b : a; }},
    {"Pow", [](D a, D b) { return std::pow(a, b); }, whole_power},
    {"Sub", [](D a, D b) { return a - b; }, [](W a, W b) { return a - b; }},
    {"Xor", nullptr, [](W a, W b) { return W((a != 0) != (b != 0)); }, true},
};

constexpr BinaryFunction kFloorMod = {"Mod", nullptr, floor_mod};
constexpr BinaryFunction kTruncatedMod = {"Mod", [](D a, D b) { return std::fmod(a, b); },
                                          [](W a, W b) { return b == 0 ? W{0} : a % b; }};
constexpr BinaryFunction kShiftLeft = {
    "BitShift", nullptr, [](W a, W b) {
      return b < 0 || b >= kMostBits ? W{0} : W(static_cast<uint64_t>(a) << static_cast<int>(b));
    }};
constexpr BinaryFunction kShiftRight = {
    "BitShift", nullptr,
    [](W a, W b) { return b < 0 || b >= kMostBits ? W{0} : a >> static_cast<int>(b); }};

std::vector<TensorType> infer_binary(const NodeView& node) {
  const BinaryFunction& f = binary_function(node);
  const TensorType& a = node.input_type(0);
  const TensorType& b = node.input_type(1);
  // Pow alone may mix types: the result is of the base's.
  TY_REQUIRE(a.dtype == b.dtype || node.op() == "Pow", "operands are {} and {}",
             dtype_name(a.dtype), dtype_name(b.dtype));
  TY_REQUIRE(a.dtype != DType::kText || node.op() == "Equal", "it is not defined for texts");
  TY_REQUIRE((is_float(a.dtype) ? f.real != nullptr : f.whole != nullptr),
             "it is not defined for elements of type {}", dtype_name(a.dtype));
  return {{f.gives_bool ? DType::kBool : a.dtype, broadcast_shapes(a.shape, b.shape)}};
}

Cost cost_binary(const NodeView& node) {
  return elementwise_cost(node, 1);
}

template <typename X, typename Y>
void apply_binary(const BinaryFunction& f, const TensorView& a, const TensorView& b,
                  const TensorView& y) {
  const Shape& shape = *y.shape;
  const std::array strides = {broadcast_strides(*a.shape, shape),
                              broadcast_strides(*b.shape, shape), shape.strides()};
  walk(shape, strides, [&](const Offsets<3>& at) {
    const X left = a.as<X>()[at[0]];
    const X right = b.as<X>()[at[1]];
    if constexpr (kIsFloat<X>) {
      y.as<Y>()[at[2]] = static_cast<Y>(f.real(left, right));
    } else {
      y.as<Y>()[at[2]] = static_cast<Y>(f.whole(left, right));
    }
  });
}

void apply_same_types(const BinaryFunction& f, const TensorView& a, const TensorView& b,
                      const TensorView& y) {
  // Equal texts have equal numbers.
  for_type(a.dtype == DType::kText ? DType::kU64 : a.dtype, [&]<typename T>(T) {
    f.gives_bool ? apply_binary<T, bool>(f, a, b, y) : apply_binary<T, T>(f, a, b, y);
  });
}

// Mixed types meet in the widest type of either's kind.
void apply_mixed_types(const BinaryFunction& f, const TensorView& a, const TensorView& b,
                       const TensorView& y) {
  const DType common = is_float(a.dtype) || is_float(b.dtype) ? DType::kF64 : DType::kI64;
  const Tensor wide_a(common, *a.shape);
  const Tensor wide_b(common, *b.shape);
  const Tensor wide_y(common, *y.shape);
  cast_elements(a, wide_a.view());
  cast_elements(b, wide_b.view());
  apply_same_types(f, wide_a.view(), wide_b.view(), wide_y.view());
  cast_elements(wide_y.view(), y);
}

Routine routine_binary(const NodeView& node) {
  return [&f = binary_function(node)](Views x, Views y) {
    (x[0].dtype == x[1].dtype ? apply_same_types : apply_mixed_types)(f, x[0], x[1], y[0]);
  };
}

// da and db, each summed over what was broadcast.
std::vector<ValueId> summed(GradContext& grad, ValueId da, ValueId db) {
  return {da.valid() ? grad.sum_to(da, grad.x_shape(0)) : da,
          db.valid() ? grad.sum_to(db, grad.x_shape(1)) : db};
}

std::vector<ValueId> gradient_add(GradContext& grad) {
  return summed(grad, grad.wants(0) ? grad.dy() : kNoValue, grad.wants(1) ? grad.dy() : kNoValue);
}

std::vector<ValueId> gradient_sub(GradContext& grad) {
  return summed(grad, grad.wants(0) ? grad.dy() : kNoValue,
                grad.wants(1) ? grad.add("Neg", {grad.dy()}) : kNoValue);
}

std::vector<ValueId> gradient_mul(GradContext& grad) {
  return summed(grad, grad.wants(0) ? grad.add("Mul", {grad.dy(), grad.x(1)}) : kNoValue,
                grad.wants(1) ? grad.add("Mul", {grad.dy(), grad.x(0)}) : kNoValue);
}

// da = dy / b, db = -dy * y / b
std::vector<ValueId> gradient_div(GradContext& grad) {
  const ValueId da = grad.add("Div", {grad.dy(), grad.x(1)});
  return summed(grad, grad.wants(0) ? da : kNoValue,
                grad.wants(1) ? grad.add("Neg", {grad.add("Mul", {da, grad.y()})}) : kNoValue);
}

// da = dy * b * a^(b-1), db = dy * y * log(a)
std::vector<ValueId> gradient_pow(GradContext& grad) {
  ValueId da = kNoValue;
  ValueId db = kNoValue;
  if (grad.wants(0)) {
    const ValueId lower = grad.add("Sub", {grad.x(1), grad.scalar(1)});
    const ValueId slope = grad.add("Mul", {grad.x(1), grad.add("Pow", {grad.x(0), lower})});
    da = grad.add("Mul", {grad.dy(), slope});
  }
  if (grad.wants(1)) {
    const ValueId slope = grad.add("Mul", {grad.y(), grad.add("Log", {grad.x(0)})});
    db = grad.add("Mul", {grad.dy(), slope});
  }
  return summed(grad, da, db);
}

// y = x where x > 0, otherwise x * slope.
std::vector<ValueId> gradient_prelu(GradContext& grad) {
  const ValueId positive = grad.add("Greater", {grad.x(0), grad.scalar(0)});
  ValueId dx = kNoValue;
  ValueId dslope = kNoValue;
  if (grad.wants(0)) {
    dx = grad.add("Where", {positive, grad.dy(), grad.add("Mul", {grad.dy(), grad.x(1)})});
  }
  if (grad.wants(1)) {
    const ValueId product = grad.add("Mul", {grad.dy(), grad.x(0)});
    dslope = grad.add("Where", {positive, grad.scalar(0), product});
  }
  return summed(grad, dx, dslope);
}

// y = a - b * n with a whole number n that jumps only: db = -dy * n, n = (a - y) / b.
std::vector<ValueId> gradient_mod(GradContext& grad) {
  ValueId db = kNoValue;
  if (grad.wants(1)) {
    const ValueId n = grad.add("Div", {grad.add("Sub", {grad.x(0), grad.y()}), grad.x(1)});
    db = grad.add("Neg", {grad.add("Mul", {grad.dy(), n})});
  }
  return summed(grad, grad.wants(0) ? grad.dy() : kNoValue, db);
}

using GradientRule = std::vector<ValueId> (*)(GradContext&);

constexpr OpDef binary(std::string_view name, std::span<const ParamRole> roles = {},
                       GradientRule gradient = nullptr, std::span<const AttrSpec> attributes = {},
                       SavedTensors saves = SavedTensors::kInputsAndOutputs) {
  return {.name = name,
          .kind = OpKind::kElementwise,
          .inputs = {2, 2},
          .attributes = attributes,
          .roles = roles,
          .infer = infer_binary,
          .cost = cost_binary,
          .routine = routine_binary,
          .gradient = gradient,
          .saves = saves,
          .overwrites = true};
}

// Only of integers.
constexpr OpDef whole(std::string_view name, std::span<const AttrSpec> attributes) {
  OpDef op = binary(name, {}, nullptr, attributes);
  op.no_gradient = NoGradient::kNever;
  return op;
}

constexpr OpDef added_in_int8(OpDef op) {
  op.int8 = Int8Form::kJoin;
  return op;
}

// What gives bool does not change with its inputs.
constexpr OpDef predicate(std::string_view name) {
  OpDef op = binary(name);
  op.no_gradient = NoGradient::kNever;
  return op;
}

}  // namespace

const BinaryFunction* find_binary(std::string_view op) {
  for (const BinaryFunction& function : kBinaryFunctions) {
    if (function.op == op) return &function;
  }
  return nullptr;
}

const BinaryFunction& binary_function(const NodeView& node) {
  if (node.op() == "Mod") return node.attr_int("fmod", 0) != 0 ? kTruncatedMod : kFloorMod;
  if (node.op() == "BitShift") {
    const std::string direction = node.attr_text("direction", "");
    TY_REQUIRE(direction == "LEFT" || direction == "RIGHT",
               "direction '{}' is not one of LEFT, RIGHT", direction);
    return direction == "LEFT" ? kShiftLeft : kShiftRight;
  }
  const BinaryFunction* function = find_binary(node.op());
  TY_CHECK(function != nullptr, "{} is not of the binary family", node.op());
  return *function;
}

extern const OpDef kAdd =
    added_in_int8(binary("Add", kAddRoles, gradient_add, {}, SavedTensors::kNothing));
extern const OpDef kAnd = predicate("And");
extern const OpDef kBitShift = whole("BitShift", kShiftAttributes);
extern const OpDef kBitwiseAnd = whole("BitwiseAnd", {});
extern const OpDef kBitwiseOr = whole("BitwiseOr", {});
extern const OpDef kBitwiseXor = whole("BitwiseXor", {});
extern const OpDef kDiv = binary("Div", kScaleRoles, gradient_div);
extern const OpDef kEqual = predicate("Equal");
extern const OpDef kGreater = predicate("Greater");
extern const OpDef kGreaterOrEqual = predicate("GreaterOrEqual");
extern const OpDef kLess = predicate("Less");
extern const OpDef kLessOrEqual = predicate("LessOrEqual");
extern const OpDef kMod = binary("Mod", {}, gradient_mod, kModAttributes);
extern const OpDef kMul = binary("Mul", kScaleRoles, gradient_mul, {}, SavedTensors::kOtherFactor);
extern const OpDef kOr = predicate("Or");
extern const OpDef kPRelu = binary("PRelu", kSlopeRoles, gradient_prelu);
extern const OpDef kPow = binary("Pow", {}, gradient_pow);
extern const OpDef kSub = binary("Sub", kAddRoles, gradient_sub, {}, SavedTensors::kNothing);
extern const OpDef kXor = predicate("Xor");

}  // namespace trainyard::ops
