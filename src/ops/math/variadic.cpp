// The family y = f(x0, x1, …), element by element with broadcasting: Max, Mean, Min, Sum.
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/math/scalar_functions.h"
#include "ops/op_def.h"
#include "tensor/dispatch.h"
#include "tensor/walk.h"

namespace trainyard::ops {
namespace {

std::vector<TensorType> infer_variadic(const NodeView& node) {
  TensorType y = node.input_type(0);
  for (size_t i = 1; i < node.num_inputs(); ++i) {
    const TensorType& x = node.input_type(i);
    TY_REQUIRE(x.dtype == y.dtype, "input {} is {}, input 0 is {}", i, dtype_name(x.dtype),
               dtype_name(y.dtype));
    y.shape = broadcast_shapes(y.shape, x.shape);
  }
  return {y};
}

Cost cost_variadic(const NodeView& node) {
  return elementwise_cost(node, static_cast<int64_t>(node.num_inputs()));
}

template <typename A>
using Combine = void (*)(A& sum, A x);

template <typename A>
void take_sum(A& sum, A x) {
  sum += x;
}

// What is not a number wins.
template <typename A>
void take_max(A& most, A x) {
  if (x > most || is_nan(x)) most = x;
}

template <typename A>
void take_min(A& least, A x) {
  if (x < least || is_nan(x)) least = x;
}

template <typename A>
Combine<A> combine_of(std::string_view op) {
  if (op == "Max") return take_max<A>;
  if (op == "Min") return take_min<A>;
  return take_sum<A>;
}

template <typename T>
void apply_variadic(std::string_view op, Views inputs, const TensorView& y) {
  using A = std::conditional_t<kIsFloat<T>, double, Whole>;
  const Combine<A> combine = combine_of<A>(op);
  std::vector<A> results(static_cast<size_t>(y.num_elements()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::array strides = {broadcast_strides(*inputs[i].shape, *y.shape), y.shape->strides()};
    walk(*y.shape, strides, [&](const Offsets<2>& at) {
      A& result = results[static_cast<size_t>(at[1])];
      const A x = inputs[i].as<const T>()[at[0]];
      i == 0 ? void(result = x) : combine(result, x);
    });
  }
  const A divisor = op == "Mean" ? static_cast<A>(inputs.size()) : A{1};
  for (size_t i = 0; i < results.size(); ++i) y.as<T>()[i] = static_cast<T>(results[i] / divisor);
}

Routine routine_variadic(const NodeView& node) {
  return [op = node.op()](Views inputs, Views outputs) {
    for_type(outputs[0].dtype, [&]<typename T>(T) { apply_variadic<T>(op, inputs, outputs[0]); });
  };
}

std::vector<ValueId> gradient_sum_variadic(GradContext& grad) {
  ValueId share = grad.dy();
  const size_t count = grad.node().num_inputs();
  if (grad.node().op() == "Mean") {
    share = grad.add("Div", {share, grad.scalar(static_cast<double>(count))});
  }
  std::vector<ValueId> dx(count, kNoValue);
  for (size_t i = 0; i < count; ++i) {
    if (grad.wants(i)) dx[i] = grad.sum_to(share, grad.x_shape(i));
  }
  return dx;
}

// The first operand that equals the result takes dy.
std::vector<ValueId> gradient_extreme_variadic(GradContext& grad) {
  std::vector<ValueId> dx(grad.node().num_inputs(), kNoValue);
  ValueId rest = grad.dy();
  for (size_t i = 0; i < dx.size(); ++i) {
    const ValueId chosen = grad.add("Equal", {grad.x(i), grad.y()});
    if (grad.wants(i)) {
      dx[i] = grad.sum_to(grad.add("Where", {chosen, rest, grad.scalar(0)}), grad.x_shape(i));
    }
    if (i + 1 < dx.size()) rest = grad.add("Where", {chosen, grad.scalar(0), rest});
  }
  return dx;
}

// Of one tensor they are that tensor.
Movement movement_variadic(const NodeView& node) {
  return node.num_inputs() == 1 ? Movement::kView : Movement::kComputed;
}

constexpr OpDef variadic(std::string_view name, std::vector<ValueId> (*gradient)(GradContext&),
                         SavedTensors saves = SavedTensors::kInputsAndOutputs) {
  return {.name = name,
          .kind = OpKind::kElementwise,
          .inputs = {1, Arity::kMany},
          .infer = infer_variadic,
          .cost = cost_variadic,
          .routine = routine_variadic,
          .gradient = gradient,
          .saves = saves,
          .movement = movement_variadic};
}

}  // namespace

extern const OpDef kMax = variadic("Max", gradient_extreme_variadic);
extern const OpDef kMean = variadic("Mean", gradient_sum_variadic);
extern const OpDef kMin = variadic("Min", gradient_extreme_variadic);
extern const OpDef kSum = variadic("Sum", gradient_sum_variadic, SavedTensors::kNothing);

}  // namespace trainyard::ops
