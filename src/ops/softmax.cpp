// Softmax: y = exp(x - max(x)) / sum(exp(x - max(x))) along `axis`; LogSoftmax: its logarithm;
// Hardmax: 1 for the first largest element, 0 for the others.
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kAttributes[] = {{"axis", AttrKind::kInt}};

std::vector<TensorType> infer(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  normalize_axis(node.attr_int("axis", -1), x.shape.rank(), node.op());
  return {x};
}

// Per element: compare, subtract, exp, add, divide.
Cost cost(const NodeView& node) {
  return elementwise_cost(node, 5);
}

// One comparison per element.
Cost cost_hardmax(const NodeView& node) {
  return elementwise_cost(node, 1);
}

constexpr OpDef softmax(std::string_view name, Cost (*cost_function)(const NodeView&)) {
  return {.name = name,
          .kind = OpKind::kActivation,
          .attributes = kAttributes,
          .infer = infer,
          .cost = cost_function};
}

}  // namespace

extern const OpDef kSoftmax = softmax("Softmax", cost);
extern const OpDef kLogSoftmax = softmax("LogSoftmax", cost);
extern const OpDef kHardmax = softmax("Hardmax", cost_hardmax);

}  // namespace trainyard::ops
