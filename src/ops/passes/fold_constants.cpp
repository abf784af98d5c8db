// fold_constants: a node whose outputs are known before the run becomes initializers.
#include <algorithm>

#include "ops/op_def.h"
#include "ops/passes/edit.h"
#include "ops/passes/pass.h"

namespace trainyard::passes {
namespace {

// Results larger than this are cheaper to compute than to keep.
constexpr int64_t kLargestResult = int64_t{64} << 20;

bool is_random(const NodeView& node) {
  return node.op().starts_with("Random") || node.op() == "Bernoulli" ||
         node.op() == "Multinomial" || node.op() == "Dropout";
}

bool outputs_small(const NodeView& node) {
  int64_t bytes = 0;
  for (size_t i = 0; i < node.num_outputs(); ++i) {
    if (!node.has_output(i)) continue;
    if (!node.output_shape(i).is_static()) return false;
    bytes += node.output_type(i).num_bytes();
  }
  return bytes <= kLargestResult;
}

// Puts the values into the graph; false if they cannot be known.
bool evaluate(Graph& graph, NodeId id, const PassContext& context) {
  const NodeView node(graph, id);
  if (ops::outputs_known(node)) return true;
  if (!context.evaluate || is_random(node) || !ops::all_inputs_constant(node) ||
      !outputs_small(node)) {
    return false;
  }
  std::vector<Tensor> results = context.evaluate(graph, id);
  if (results.size() < node.num_outputs()) return false;
  for (size_t i = 0; i < node.num_outputs(); ++i) {
    if (!node.has_output(i)) continue;
    graph.mutable_value(node.output(i)).constant =
        std::make_shared<const Tensor>(std::move(results[i]));
  }
  return true;
}

}  // namespace

bool fold_constants(Graph& graph, const PassContext& context) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    if (!evaluate(graph, id, context)) continue;
    const std::vector<ValueId> outputs = graph.node(id).outputs;
    for (const ValueId output : outputs) {
      if (!output.valid()) continue;
      const ValueId constant = graph.add_initializer(
          graph.unique_name(graph.value(output).name + ".folded"), graph.value(output).constant);
      graph.replace_uses(output, constant);
    }
    graph.erase_node(id);
    changed = true;
  }
  return drop_unused_initializers(graph) || changed;
}

}  // namespace trainyard::passes
