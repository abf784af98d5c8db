// Softmax: y = exp(x - max(x)) / sum(exp(x - max(x))) along `axis`; LogSoftmax: its logarithm.
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

constexpr OpDef softmax(std::string_view name) {
  return {.name = name,
          .kind = OpKind::kActivation,
          .attributes = kAttributes,
          .infer = infer,
          .cost = cost};
}

}  // namespace

extern const OpDef kSoftmax = softmax("Softmax");
extern const OpDef kLogSoftmax = softmax("LogSoftmax");

}  // namespace trainyard::ops
