#include "ops/passes/edit.h"

namespace trainyard::passes {

NodeId sole_producer(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.consumers.size() != 1 || graph.is_output(id)) return {};
  return value.producer;
}

void bypass(Graph& graph, NodeId node, ValueId to) {
  graph.replace_uses(graph.node(node).outputs[0], to);
  graph.erase_node(node);
}

void set_input(Graph& graph, NodeId node, size_t position, ValueId value) {
  std::vector<ValueId>& inputs = graph.mutable_node(node).inputs;
  if (inputs.size() <= position) inputs.resize(position + 1, kNoValue);
  graph.set_node_input(node, position, value);
}

ValueId add_constant(Graph& graph, std::string_view base, Tensor data) {
  return graph.add_initializer(graph.unique_name(base),
                               std::make_shared<const Tensor>(std::move(data)));
}

bool drop_if_unused(Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.kind != ValueKind::kInitializer || !value.consumers.empty() || graph.is_output(id)) {
    return false;
  }
  graph.erase_value(id);
  graph.mutable_value(id).constant.reset();
  return true;
}

bool drop_unused_initializers(Graph& graph) {
  bool changed = false;
  for (const ValueId id : graph.initializers()) changed = drop_if_unused(graph, id) || changed;
  return changed;
}

}  // namespace trainyard::passes
