// expand_pow: a power by a number that takes no more than products and a root becomes these.
#include "ops/builder.h"
#include "ops/passes/pass.h"
#include "ops/passes/pattern.h"

namespace trainyard::passes {
namespace {

bool expand_power(Graph& graph, NodeId id) {
  const NodeView node(graph, id);
  if (node.op() != "Pow" || node.input_type(0).dtype != DType::kF32 ||
      node.input_shape(0) != node.output_shape(0)) {
    return false;
  }
  const std::optional<double> exponent = number_of(graph, node.input(1));
  if (!exponent) return false;
  const ValueId x = node.input(0);
  if (*exponent == 1) {
    bypass(graph, id, x);
  } else if (*exponent == 2) {
    replace_by(graph, id, "Mul", {x, x});
  } else if (*exponent == 3) {
    ops::Builder b(graph);
    replace_by(graph, id, "Mul", {b.add("Mul", {x, x}), x});
  } else if (*exponent == 0.5) {
    replace_by(graph, id, "Sqrt", {x});
  } else if (*exponent == -0.5) {
    ops::Builder b(graph);
    const ValueId root = b.add("Sqrt", {x});
    replace_by(graph, id, "Div", {b.constant_scalar(graph.unique_name("one"), 1.0F), root});
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool expand_pow(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) changed = expand_power(graph, id) || changed;
  if (changed) graph.sort();
  return changed;
}

}  // namespace trainyard::passes
