// drop_identities: removes nodes that hand on their input unchanged (Identity, Dropout outside
// training, a Sum of one, a Reshape to the same shape, a transposition that moves nothing).
#include <algorithm>

#include "ops/op_def.h"
#include "ops/passes/edit.h"
#include "ops/passes/pass.h"

namespace trainyard::passes {
namespace {

bool is_used(const Graph& graph, ValueId id) {
  return id.valid() && (!graph.value(id).consumers.empty() || graph.is_output(id));
}

bool hands_on(const NodeView& node, bool view) {
  if (!view || node.input_type(0) != node.output_type(0)) return false;
  const auto& outputs = node.node().outputs;
  return std::none_of(outputs.begin() + 1, outputs.end(),
                      [&](ValueId id) { return is_used(node.graph(), id); });
}

bool drop(Graph& graph, bool (*is_view)(const NodeView&)) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    if (!hands_on(node, is_view(node))) continue;
    bypass(graph, id, node.input(0));
    changed = true;
  }
  return changed;
}

}  // namespace

bool drop_identities(Graph& graph, const PassContext& /*context*/) {
  return drop(graph, ops::is_view);
}

// drop_copies: the same, of a graph that may still be trained.
bool drop_copies(Graph& graph, const PassContext& /*context*/) {
  return drop(graph, ops::is_view_in_training);
}

}  // namespace trainyard::passes
