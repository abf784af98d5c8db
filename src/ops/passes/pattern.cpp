#include "ops/passes/pattern.h"

#include <cmath>

namespace trainyard::passes {

ValueId beside(const NodeView& node, ValueId known) {
  if (node.num_inputs() != 2) return kNoValue;
  if (node.input(0) == known) return node.input(1);
  return node.input(1) == known ? node.input(0) : kNoValue;
}

bool is_near(double number, double expected) {
  if (std::fabs(number - expected) <= 1e-5 * std::fabs(expected)) return true;
  // As a file of 16 bits has it.
  const auto single = static_cast<float>(expected);
  return number == double{f16_to_f32(f32_to_f16(single))} ||
         number == double{bf16_to_f32(f32_to_bf16(single))};
}

std::optional<double> number_of(const Graph& graph, ValueId id) {
  if (!id.valid()) return std::nullopt;
  const Tensor* constant = graph.value(id).constant.get();
  if (constant == nullptr || constant->num_elements() != 1) return std::nullopt;
  return element_as_double(*constant, 0);
}

bool is_number(const Graph& graph, ValueId id, double expected) {
  const std::optional<double> number = number_of(graph, id);
  return number && is_near(*number, expected);
}

NodeId sole_user(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.consumers.size() != 1 || graph.is_output(id)) return {};
  return value.consumers[0];
}

NodeId made_by(const Graph& graph, ValueId id, std::string_view op) {
  const NodeId producer = id.valid() ? graph.value(id).producer : NodeId{};
  return producer.valid() && graph.node(producer).op == op ? producer : NodeId{};
}

void replace_by(Graph& graph, NodeId result, std::string_view op, std::vector<ValueId> inputs,
                Attributes attributes) {
  const ValueId y = graph.node(result).outputs[0];
  const std::string output = graph.unique_name(graph.value(y).name + "." + std::string(op));
  const TensorType type = graph.value(y).type;
  const NodeId made =
      graph.add_node(output, std::string(op), std::move(inputs), std::move(attributes),
                     std::vector<std::string>{output}, std::vector<TensorType>{type});
  graph.replace_uses(y, graph.node(made).outputs[0]);
}

}  // namespace trainyard::passes
