// remove_dead: drops nodes and initializers that no output depends on.
#include <algorithm>

#include "ops/passes/edit.h"
#include "ops/passes/pass.h"

namespace trainyard::passes {

bool remove_unused(Graph& graph) {
  bool changed = false;
  const std::vector<NodeId> ids = graph.node_ids();
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    const std::vector<ValueId>& outputs = graph.node(*id).outputs;
    const bool used = std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
      return output.valid() && (!graph.value(output).consumers.empty() || graph.is_output(output));
    });
    if (used) continue;
    graph.erase_node(*id);
    changed = true;
  }
  return drop_unused_initializers(graph) || changed;
}

bool remove_dead(Graph& graph, const PassContext& /*context*/) {
  return remove_unused(graph);
}

}  // namespace trainyard::passes
