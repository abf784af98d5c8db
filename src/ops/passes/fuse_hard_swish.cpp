// fuse_hard_swish: x * HardSigmoid(x), and x * Clip(x + 3, 0, 6) / 6 in any order of its factors,
// become HardSwish.
#include "ops/math/activation.h"
#include "ops/passes/pass.h"
#include "ops/passes/pattern.h"

namespace trainyard::passes {
namespace {

constexpr double kSixth = 1.0 / 6;

// x of Clip(x + 3, 0, 6); kNoValue if it is another thing.
ValueId clipped_input(const Graph& graph, const NodeView& clip) {
  const ops::ActivationSpec range = ops::activation_from(clip);
  if (range.op.empty() || range.alpha != 0.0F || range.beta != 6.0F) return kNoValue;
  const NodeId sum = graph.value(clip.input(0)).producer;
  if (!sum.valid() || graph.node(sum).op != "Add") return kNoValue;
  const NodeView node(graph, sum);
  for (size_t i = 0; i < 2; ++i) {
    if (is_number(graph, node.input(1 - i), 3)) return node.input(i);
  }
  return kNoValue;
}

// The node that divides `id` by six, its only user; invalid if there is none.
NodeId sixth_of(const Graph& graph, ValueId id) {
  const NodeId user = sole_user(graph, id);
  if (!user.valid()) return {};
  const NodeView node(graph, user);
  const ValueId other = beside(node, id);
  const bool divides = node.op() == "Div" && node.input(0) == id && is_number(graph, other, 6);
  const bool multiplies = node.op() == "Mul" && is_number(graph, other, kSixth);
  return divides || multiplies ? user : NodeId{};
}

NodeId product_by(const Graph& graph, ValueId id, ValueId x) {
  const NodeId user = sole_user(graph, id);
  const bool found = user.valid() && graph.node(user).op == "Mul" && beside({graph, user}, id) == x;
  return found ? user : NodeId{};
}

// The last node of the pattern that begins with `node`; x is what it is of.
NodeId hard_swish_of(const Graph& graph, const NodeView& node, ValueId& x) {
  if (node.op() == "HardSigmoid") {
    x = node.input(0);
    const bool same = is_near(double{node.attr_float("alpha", 0.2F)}, kSixth) &&
                      node.attr_float("beta", 0.5F) == 0.5F;
    return same ? product_by(graph, node.output(0), x) : NodeId{};
  }
  if (node.op() != "Clip") return {};
  x = clipped_input(graph, node);
  if (!x.valid()) return {};
  if (const NodeId product = product_by(graph, node.output(0), x); product.valid()) {
    return sixth_of(graph, graph.node(product).outputs[0]);
  }
  const NodeId sixth = sixth_of(graph, node.output(0));
  return sixth.valid() ? product_by(graph, graph.node(sixth).outputs[0], x) : NodeId{};
}

}  // namespace

bool fuse_hard_swish(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    if (node.num_inputs() == 0 || !node.has_input(0) || node.input_type(0).dtype != DType::kF32) {
      continue;
    }
    ValueId x;
    const NodeId last = hard_swish_of(graph, node, x);
    if (!last.valid() || NodeView(graph, last).output_type(0) != graph.value(x).type) continue;
    replace_by(graph, last, "HardSwish", {x});
    changed = true;
  }
  if (changed) graph.sort();
  return changed;
}

}  // namespace trainyard::passes
