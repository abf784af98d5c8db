// drop_identities: removes nodes that hand on their input unchanged (Identity, Dropout outside
// training, a Sum of one, a transposition that moves nothing).
#include <numeric>

#include "passes/edit.h"
#include "passes/pass.h"

namespace trainyard::passes {
namespace {

bool is_training_dropout(const NodeView& node) {
  if (!node.has_input(2)) return false;
  const Tensor* training = node.input_constant(2);
  return training == nullptr || element_as_int(*training, 0) != 0;
}

bool mask_is_used(const NodeView& node) {
  return node.has_output(1) && (!node.graph().value(node.output(1)).consumers.empty() ||
                                node.graph().is_output(node.output(1)));
}

bool keeps_order(const NodeView& node) {
  std::vector<int64_t> straight(static_cast<size_t>(node.input_shape(0).rank()));
  std::iota(straight.begin(), straight.end(), 0);
  const std::vector<int64_t> reversed(straight.rbegin(), straight.rend());
  return node.attr_ints("perm", reversed) == straight;
}

bool hands_on(const NodeView& node) {
  if (node.op() == "Identity") return true;
  if (node.op() == "Dropout") return !mask_is_used(node) && !is_training_dropout(node);
  if (node.op() == "Sum") return node.num_inputs() == 1;
  if (node.op() == "Transpose") return keeps_order(node);
  return false;
}

}  // namespace

bool drop_identities(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    if (!hands_on(node)) continue;
    bypass(graph, id, node.input(0));
    changed = true;
  }
  return changed;
}

}  // namespace trainyard::passes
