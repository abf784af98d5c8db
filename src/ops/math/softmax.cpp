// Softmax: y = exp(x - max(x)) / sum(exp(x - max(x))) along `axis`; LogSoftmax: its logarithm;
// Hardmax: 1 for the first largest element, 0 for the others.
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kSoftmaxAttributes[] = {{"axis", AttrKind::kInt}};

std::vector<TensorType> infer_softmax(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  normalize_axis(node.attr_int("axis", -1), x.shape.rank(), node.op());
  return {x};
}

// Per element: compare, subtract, exp, add, divide.
Cost cost_softmax(const NodeView& node) {
  return elementwise_cost(node, 5);
}

// One comparison per element.
Cost cost_hardmax(const NodeView& node) {
  return elementwise_cost(node, 1);
}

ValueId sum_over_axis(GradContext& grad, ValueId value) {
  const int64_t axis = grad.node().attr_int("axis", -1);
  return grad.add("ReduceSum", {value, grad.ints({&axis, 1})}, {{"keepdims", int64_t{1}}});
}

// dx = y * (dy - sum(y * dy))
std::vector<ValueId> gradient_softmax(GradContext& grad) {
  const ValueId dot = sum_over_axis(grad, grad.add("Mul", {grad.y(), grad.dy()}));
  return {grad.add("Mul", {grad.y(), grad.add("Sub", {grad.dy(), dot})})};
}

// dx = dy - exp(y) * sum(dy)
std::vector<ValueId> gradient_log_softmax(GradContext& grad) {
  const ValueId share =
      grad.add("Mul", {grad.add("Exp", {grad.y()}), sum_over_axis(grad, grad.dy())});
  return {grad.add("Sub", {grad.dy(), share})};
}

Reaches reach_softmax(const NodeView& node, size_t dims) {
  if (is_spatial(node, node.attr_int("axis", -1), node.input_shape(0), dims)) return std::nullopt;
  return same_position(node, dims);
}

constexpr OpDef softmax(std::string_view name, std::vector<ValueId> (*gradient)(GradContext&)) {
  return {.name = name,
          .kind = OpKind::kActivation,
          .attributes = kSoftmaxAttributes,
          .infer = infer_softmax,
          .cost = cost_softmax,
          .reach = reach_softmax,
          .gradient = gradient,
          .saves = SavedTensors::kOutput};
}

}  // namespace

extern const OpDef kSoftmax = softmax("Softmax", gradient_softmax);
extern const OpDef kLogSoftmax = softmax("LogSoftmax", gradient_log_softmax);
extern const OpDef kHardmax = {.name = "Hardmax",
                               .kind = OpKind::kActivation,
                               .attributes = kSoftmaxAttributes,
                               .infer = infer_softmax,
                               .cost = cost_hardmax,
                               .reach = reach_softmax,
                               .no_gradient = NoGradient::kNever};

}  // namespace trainyard::ops
