// fuse_gradient_sum: where the gradient of a normalization that added a residual is the sum of two,
// the normalization's gradient adds them itself.
#include "ops/passes/edit.h"
#include "ops/passes/pass.h"

namespace trainyard::passes {
namespace {

constexpr size_t kDy = 4;
constexpr size_t kMoreDy = 7;
constexpr size_t kResidualGradient = 3;

}  // namespace

bool fuse_gradient_sum(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    if (node.op() != "BatchNormGrad" || !node.has_output(kResidualGradient)) continue;
    if (node.has_input(kMoreDy)) continue;
    const NodeId producer = sole_producer(graph, node.input(kDy));
    if (!producer.valid()) continue;
    const NodeView add(graph, producer);
    if (add.op() != "Add" || add.input_type(0) != add.input_type(1)) continue;
    const ValueId first = add.input(0);
    const ValueId second = add.input(1);
    set_input(graph, id, kDy, first);
    set_input(graph, id, kMoreDy, second);
    graph.erase_node(producer);
    changed = true;
  }
  return changed;
}

}  // namespace trainyard::passes
