// The family y = f(a, b), element by element with broadcasting.
#include <cmath>

#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"
#include "ops/scalar_functions.h"

namespace trainyard::ops {
namespace {

// A tensor that is added may be a bias that an exporter kept apart from its matrix product.
constexpr ParamRole kAddRoles[] = {ParamRole::kBias, ParamRole::kBias};
constexpr ParamRole kScaleRoles[] = {ParamRole::kWeight, ParamRole::kWeight};

int64_t whole_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (int64_t i = 0; i < exponent; ++i) result *= base;
  return result;
}

// Integer division by zero has no answer; as in NumPy it gives zero.
constexpr BinaryFunction kFunctions[] = {
    {"Add", [](double a, double b) { return a + b; }, [](int64_t a, int64_t b) { return a + b; }},
    {"Div", [](double a, double b) { return a / b; },
     [](int64_t a, int64_t b) { return b == 0 ? int64_t{0} : a / b; }},
    {"Mul", [](double a, double b) { return a * b; }, [](int64_t a, int64_t b) { return a * b; }},
    {"Pow", [](double a, double b) { return std::pow(a, b); }, whole_power},
    {"Sub", [](double a, double b) { return a - b; }, [](int64_t a, int64_t b) { return a - b; }},
};

std::vector<TensorType> infer(const NodeView& node) {
  const TensorType& a = node.input_type(0);
  const TensorType& b = node.input_type(1);
  // Pow alone may mix types: the result is of the base's.
  TY_REQUIRE(a.dtype == b.dtype || node.op() == "Pow", "operands are {} and {}",
             dtype_name(a.dtype), dtype_name(b.dtype));
  return {{a.dtype, broadcast_shapes(a.shape, b.shape)}};
}

Cost cost(const NodeView& node) {
  return elementwise_cost(node, 1);
}

std::vector<Tensor> evaluate(const NodeView& node) {
  if (!all_inputs_constant(node)) return {};
  const BinaryFunction& f = *find_binary(node.op());
  const TensorType& y_type = node.output_type(0);
  const auto stretched = [&](const Tensor& x) {
    Tensor full(x.dtype(), y_type.shape);
    copy_strided(y_type.shape.dims(), dtype_size(x.dtype()), x.data(),
                 broadcast_strides(x.shape(), y_type.shape), full.data(), y_type.shape.strides());
    return full;
  };
  const Tensor a = stretched(*node.input_constant(0));
  const Tensor b = stretched(*node.input_constant(1));
  const bool whole = !is_float(a.dtype()) && !is_float(b.dtype()) && f.whole != nullptr;
  Tensor y(whole ? DType::kI64 : DType::kF64, y_type.shape);
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (whole) {
      y.values<int64_t>()[at] = f.whole(element_as_int(a, i), element_as_int(b, i));
    } else {
      y.values<double>()[at] = f.real(element_as_double(a, i), element_as_double(b, i));
    }
  }
  std::vector<Tensor> outputs;
  outputs.push_back(cast(y, y_type.dtype));
  return outputs;
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

constexpr OpDef binary(std::string_view name, std::span<const ParamRole> roles,
                       std::vector<ValueId> (*gradient)(GradContext&)) {
  return {.name = name,
          .kind = OpKind::kElementwise,
          .inputs = {2, 2},
          .roles = roles,
          .infer = infer,
          .cost = cost,
          .evaluate = evaluate,
          .gradient = gradient};
}

}  // namespace

const BinaryFunction* find_binary(std::string_view op) {
  for (const BinaryFunction& function : kFunctions) {
    if (function.op == op) return &function;
  }
  return nullptr;
}

extern const OpDef kAdd = binary("Add", kAddRoles, gradient_add);
extern const OpDef kDiv = binary("Div", kScaleRoles, gradient_div);
extern const OpDef kMul = binary("Mul", kScaleRoles, gradient_mul);
extern const OpDef kPow = binary("Pow", {}, gradient_pow);
extern const OpDef kSub = binary("Sub", kAddRoles, gradient_sub);

}  // namespace trainyard::ops
