// Reductions along axes: sums, means, extremes, products, norms and their logarithms.
#include "ops/math/reduce.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/integers.h"
#include "ops/gradient.h"
#include "ops/math/scalar_functions.h"
#include "ops/op_def.h"
#include "tensor/dispatch.h"
#include "tensor/walk.h"

namespace trainyard::ops {
namespace {

// The axes are an attribute, or an input where they are known only at run time.
constexpr AttrSpec kReduceAttributes[] = {{"axes", AttrKind::kInts},
                                          {"keepdims", AttrKind::kInt},
                                          {"noop_with_empty_axes", AttrKind::kInt}};
// ReduceSum takes its axes as an input.
constexpr AttrSpec kSumAttributes[] = {{"keepdims", AttrKind::kInt},
                                       {"noop_with_empty_axes", AttrKind::kInt}};

// A is double for floats and Whole for integers.
template <typename A>
struct Reduction {
  std::string_view op;
  A initial;
  void (*step)(A& sum, A x);
  double (*finish)(double sum, double count) = nullptr;  // null: the sum itself
};

template <typename A>
void multiply(A& product, A x) {
  if constexpr (std::is_same_v<A, double>) {
    product *= x;
  } else {
    product = static_cast<int64_t>(static_cast<uint64_t>(product) * static_cast<uint64_t>(x));
  }
}

// Sums of squares beyond 128 bits lose their upper ones, as products do.
template <typename A>
void add_square(A& sum, A x) {
  if constexpr (std::is_same_v<A, double>) {
    sum += x * x;
  } else {
    using Bits = unsigned __int128;
    sum = static_cast<A>(static_cast<Bits>(sum) + static_cast<Bits>(x) * static_cast<Bits>(x));
  }
}

template <typename A>
constexpr A kLowest = std::is_same_v<A, double> ? A(-std::numeric_limits<double>::infinity())
                                                : A(std::numeric_limits<int64_t>::min());
template <typename A>
constexpr A kHighest = std::is_same_v<A, double> ? A(std::numeric_limits<double>::infinity())
                                                 : A(std::numeric_limits<uint64_t>::max());

// What is not a number wins in Max and Min. LogSumExp is computed after the largest element is
// taken off.
template <typename A>
constexpr Reduction<A> kReductions[] = {
    {"ReduceL1", 0, [](A& sum, A x) { sum += x < 0 ? -x : x; }},
    {"ReduceL2", 0, add_square<A>, [](double sum, double) { return std::sqrt(sum); }},
    {"ReduceLogSum", 0, [](A& sum, A x) { sum += x; },
     [](double sum, double) { return std::log(sum); }},
    {"ReduceLogSumExp", 0, [](A& sum, A x) { sum += A(std::exp(double(x))); },
     [](double sum, double) { return std::log(sum); }},
    {"ReduceMax", kLowest<A>, [](A& most, A x) { most = x > most || is_nan(x) ? x : most; }},
    {"ReduceMean", 0, [](A& sum, A x) { sum += x; },
     [](double sum, double count) { return sum / count; }},
    {"ReduceMin", kHighest<A>, [](A& least, A x) { least = x < least || is_nan(x) ? x : least; }},
    {"ReduceProd", 1, multiply<A>},
    {"ReduceSum", 0, [](A& sum, A x) { sum += x; }},
    {"ReduceSumSquare", 0, add_square<A>},
};

template <typename A>
const Reduction<A>& find_reduction(std::string_view op) {
  for (const Reduction<A>& reduction : kReductions<A>) {
    if (reduction.op == op) return reduction;
  }
  TY_CHECK(false, "{} is not a reduction", op);
}

// What the node says about the axes that are reduced, apart from input 1.
struct AxesRule {
  std::string op;
  std::vector<int64_t> axes;
  bool empty_is_none = false;

  explicit AxesRule(const NodeView& node)
      : op(node.op()),
        axes(node.attr_ints("axes", {})),
        empty_is_none(node.attr_int("noop_with_empty_axes", 0) != 0) {}

  // Which dimensions go, given what input 1 holds, if there is one.
  std::vector<bool> reduced(int64_t rank, const std::vector<int64_t>* input) const {
    const std::vector<int64_t>& chosen = input != nullptr ? *input : axes;
    // How many dimensions go is told from the number of axes where they are not known before the
    // run, so each may be named once.
    std::vector<bool> named(static_cast<size_t>(rank), false);
    for (const int64_t axis : chosen) {
      const auto at = static_cast<size_t>(normalize_axis(axis, rank, op));
      TY_REQUIRE(!named[at], "axis {} is named twice", axis);
      named[at] = true;
    }
    return chosen.empty() && !empty_is_none ? std::vector<bool>(named.size(), true) : named;
  }
};

}  // namespace

std::optional<std::vector<bool>> reduced_axes(const NodeView& node) {
  const auto input = node.input_ints(1);
  if (node.has_input(1) && !input) return std::nullopt;
  return AxesRule(node).reduced(node.input_shape(0).rank(), input ? &*input : nullptr);
}

namespace {

std::vector<TensorType> infer_reduce(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const bool keeps = node.attr_int("keepdims", 1) != 0;
  const auto reduced = reduced_axes(node);
  if (!reduced) {
    const int64_t count = node.input_shape(1).num_elements();
    TY_REQUIRE(keeps || (0 < count && count <= x.shape.rank()),
               "{} axes of shape {} are reduced, but which is not known", count,
               x.shape.to_string());
    const int64_t rank = keeps ? x.shape.rank() : x.shape.rank() - count;
    return {{x.dtype, Shape(std::vector<int64_t>(static_cast<size_t>(rank), Shape::kUnknown))}};
  }
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < x.shape.rank(); ++d) {
    const bool gone = (*reduced)[static_cast<size_t>(d)];
    if (!gone || keeps) dims.push_back(gone ? 1 : x.shape[d]);
  }
  return {{x.dtype, Shape(std::move(dims))}};
}

// One operation per element read.
Cost cost_reduce(const NodeView& node) {
  Cost cost = traffic(node);
  cost.flops = node.input_shape(0).num_elements();
  return cost;
}

// Where each element of x goes: the strides of y, 0 along what is reduced.
std::vector<int64_t> target_strides(const Shape& x, const std::vector<bool>& reduced) {
  std::vector<int64_t> strides(reduced.size(), 0);
  int64_t stride = 1;
  for (size_t d = reduced.size(); d-- > 0;) {
    if (reduced[d]) continue;
    strides[d] = stride;
    stride *= x[static_cast<int64_t>(d)];
  }
  return strides;
}

template <typename T, typename A>
std::vector<A> reduce(const Reduction<A>& reduction, const TensorView& x, const TensorView& y,
                      const std::vector<bool>& reduced, const std::vector<A>& shifts) {
  std::vector<A> sums(static_cast<size_t>(y.num_elements()), reduction.initial);
  const std::array strides = {x.shape->strides(), target_strides(*x.shape, reduced)};
  walk(*x.shape, strides, [&](const Offsets<2>& at) {
    const auto to = static_cast<size_t>(at[1]);
    const auto value = static_cast<A>(x.as<const T>()[at[0]]);
    reduction.step(sums[to], shifts.empty() ? value : value - shifts[to]);
  });
  return sums;
}

// What a logarithm, a root or a mean gives, in the type of the elements.
template <typename T>
T result_of(double value) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return within_range<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

template <typename T, typename A>
void run(std::string_view op, const TensorView& x, const TensorView& y,
         const std::vector<bool>& reduced) {
  const Reduction<A>& reduction = find_reduction<A>(op);
  std::vector<A> shifts;
  if (op == "ReduceLogSumExp") {
    shifts = reduce<T, A>(find_reduction<A>("ReduceMax"), x, y, reduced, {});
    for (A& shift : shifts) {
      if (!std::isfinite(static_cast<double>(shift))) shift = 0;
    }
  }
  const std::vector<A> sums = reduce<T, A>(reduction, x, y, reduced, shifts);
  const double count =
      static_cast<double>(x.num_elements()) / static_cast<double>(y.num_elements());
  for (size_t i = 0; i < sums.size(); ++i) {
    if (reduction.finish == nullptr) {
      y.as<T>()[i] = static_cast<T>(sums[i]);
      continue;
    }
    const double shift = shifts.empty() ? 0.0 : static_cast<double>(shifts[i]);
    y.as<T>()[i] = result_of<T>(reduction.finish(static_cast<double>(sums[i]), count) + shift);
  }
}

Routine routine_reduce(const NodeView& node) {
  return [rule = AxesRule(node)](Views inputs, Views outputs) {
    const bool given = inputs.size() > 1 && inputs[1].data != nullptr;
    const std::vector<int64_t> axes = given ? to_ints(inputs[1]) : std::vector<int64_t>{};
    const auto reduced = rule.reduced(inputs[0].shape->rank(), given ? &axes : nullptr);
    for_type(inputs[0].dtype, [&]<typename T>(T) {
      // Whole numbers are summed exactly, but not their exponentials.
      using Exact = std::conditional_t<kIsFloat<T>, double, Whole>;
      const auto compute = rule.op == "ReduceLogSumExp" ? run<T, double> : run<T, Exact>;
      compute(rule.op, inputs[0], outputs[0], reduced);
    });
  };
}

// What the rules see: y and dy with the reduced dimensions kept as 1.
struct Kept {
  Shape shape;
  std::vector<int64_t> axes;  // the reduced ones
  int64_t count = 1;          // elements of x per element of y
  ValueId y, dy;

  explicit Kept(GradContext& grad) : shape(grad.x_shape(0)) {
    const auto reduced = reduced_axes(grad.node());
    TY_REQUIRE(reduced.has_value(), "the axes are not known before the run");
    for (int64_t i = 0; i < shape.rank(); ++i) {
      if (!(*reduced)[static_cast<size_t>(i)]) continue;
      axes.push_back(i);
      count *= shape[i];
      shape[i] = 1;
    }
    const auto keep = [&](ValueId value) {
      return grad.builder().shape(value) == shape ? value : grad.reshape(value, shape);
    };
    y = keep(grad.y());
    dy = keep(grad.dy());
  }
};

// Every element of a sum gets the sum's dy; of a mean, its share.
std::vector<ValueId> gradient_sum_reduce(GradContext& grad) {
  const Kept kept(grad);
  ValueId dy = kept.dy;
  if (grad.node().op() == "ReduceMean") {
    dy = grad.add("Div", {dy, grad.scalar(static_cast<double>(kept.count))});
  }
  return {grad.add("Expand", {dy, grad.ints(grad.x_shape(0).dims())}), kNoValue};
}

std::vector<ValueId> gradient_l1(GradContext& grad) {
  return {grad.add("Mul", {Kept(grad).dy, grad.add("Sign", {grad.x(0)})})};
}

// dx = dy * x / y
std::vector<ValueId> gradient_l2(GradContext& grad) {
  const Kept kept(grad);
  return {grad.add("Mul", {grad.add("Div", {kept.dy, kept.y}), grad.x(0)})};
}

std::vector<ValueId> gradient_square(GradContext& grad) {
  const ValueId twice = grad.add("Mul", {Kept(grad).dy, grad.scalar(2)});
  return {grad.add("Mul", {twice, grad.x(0)})};
}

// dx = dy / sum(x) = dy * exp(-y)
std::vector<ValueId> gradient_log_sum(GradContext& grad) {
  const Kept kept(grad);
  const ValueId share = grad.add("Mul", {kept.dy, grad.add("Exp", {grad.add("Neg", {kept.y})})});
  return {grad.add("Expand", {share, grad.ints(grad.x_shape(0).dims())})};
}

// dx = dy * exp(x - y)
std::vector<ValueId> gradient_log_sum_exp(GradContext& grad) {
  const Kept kept(grad);
  return {grad.add("Mul", {kept.dy, grad.add("Exp", {grad.add("Sub", {grad.x(0), kept.y})})})};
}

// Equal extremes share dy evenly.
std::vector<ValueId> gradient_extreme_reduce(GradContext& grad) {
  const Kept kept(grad);
  const ValueId found = grad.add("Equal", {grad.x(0), kept.y});
  const ValueId ones = grad.add("CastLike", {found, grad.dy()});
  const ValueId count =
      grad.add("ReduceSum", {ones, grad.ints(kept.axes)}, {{"keepdims", int64_t{1}}});
  return {grad.add("Mul", {grad.add("Div", {kept.dy, count}), ones})};
}

constexpr OpDef reduction(std::string_view name,
                          std::vector<ValueId> (*rule)(GradContext&) = nullptr,
                          SavedTensors saves = SavedTensors::kInputsAndOutputs) {
  return {.name = name,
          .kind = OpKind::kReduction,
          .inputs = {1, 2},
          .attributes = kReduceAttributes,
          .infer = infer_reduce,
          .cost = cost_reduce,
          .routine = routine_reduce,
          .gradient = rule,
          .saves = saves};
}

}  // namespace

extern const OpDef kReduceL1 = reduction("ReduceL1", gradient_l1);
extern const OpDef kReduceL2 = reduction("ReduceL2", gradient_l2);
extern const OpDef kReduceLogSum = reduction("ReduceLogSum", gradient_log_sum);
extern const OpDef kReduceLogSumExp = reduction("ReduceLogSumExp", gradient_log_sum_exp);
extern const OpDef kReduceMax = reduction("ReduceMax", gradient_extreme_reduce);
extern const OpDef kReduceMean =
    reduction("ReduceMean", gradient_sum_reduce, SavedTensors::kNothing);
extern const OpDef kReduceMin = reduction("ReduceMin", gradient_extreme_reduce);
extern const OpDef kReduceProd = reduction("ReduceProd");
// Inputs: x, axes.
extern const OpDef kReduceSum = {.name = "ReduceSum",
                                 .kind = OpKind::kReduction,
                                 .inputs = {1, 2},
                                 .attributes = kSumAttributes,
                                 .infer = infer_reduce,
                                 .cost = cost_reduce,
                                 .routine = routine_reduce,
                                 .gradient = gradient_sum_reduce,
                                 .saves = SavedTensors::kNothing};
extern const OpDef kReduceSumSquare = reduction("ReduceSumSquare", gradient_square);

}  // namespace trainyard::ops
