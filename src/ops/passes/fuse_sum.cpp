// fuse_sum: a tensor added to the result of a convolution is added by the convolution itself.
#include "ops/passes/edit.h"
#include "ops/passes/pass.h"

namespace trainyard::passes {
namespace {

constexpr size_t kSum = 3;

bool can_take_sum(const Graph& graph, ValueId id, const TensorType& type) {
  const NodeId producer = sole_producer(graph, id);
  if (!producer.valid() || graph.value(id).type != type) return false;
  if (type.dtype != DType::kF32) return false;
  const NodeView conv(graph, producer);
  return conv.op() == "Conv" ||
         (conv.op() == "FusedConv" && !conv.has_input(kSum) && !conv.has_attr("activation"));
}

}  // namespace

bool fuse_sum(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  // Where a convolution stands in the order; the later of two operands takes the other.
  std::vector<size_t> position(graph.node_limit(), 0);
  size_t count = 0;
  for (const NodeId id : graph.node_ids()) position[static_cast<size_t>(id.index)] = count++;
  for (const NodeId id : graph.node_ids()) {
    const NodeView add(graph, id);
    if ((add.op() != "Add" && add.op() != "Sum") || add.num_inputs() != 2) continue;
    if (add.input(0) == add.input(1)) continue;
    const TensorType& type = add.output_type(0);
    size_t best = 2;
    size_t latest = 0;
    for (size_t i = 0; i < 2; ++i) {
      const Value& other = graph.value(add.input(1 - i));
      if (!can_take_sum(graph, add.input(i), type) || other.type != type ||
          other.kind == ValueKind::kInitializer) {
        continue;
      }
      const size_t at = position[static_cast<size_t>(graph.value(add.input(i)).producer.index)];
      if (best == 2 || at > latest) {
        best = i;
        latest = at;
      }
    }
    if (best == 2) continue;
    const ValueId product = add.input(best);
    const ValueId other = add.input(1 - best);
    const NodeId conv = graph.value(product).producer;
    set_input(graph, conv, kSum, other);
    graph.mutable_node(conv).op = "FusedConv";
    bypass(graph, id, product);
    changed = true;
  }
  if (changed) graph.sort();
  return changed;
}

}  // namespace trainyard::passes
