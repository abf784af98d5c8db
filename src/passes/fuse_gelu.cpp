// fuse_gelu: the arithmetic that exporters write for Gelu (with erf) and for x * sigmoid(x) becomes
// one operator.
#include <cmath>
#include <numbers>

#include "passes/edit.h"
#include "passes/pass.h"

namespace trainyard::passes {
namespace {

// The other operand of a node of two inputs, if `known` is one of them; kNoValue otherwise.
ValueId beside(const NodeView& node, ValueId known) {
  if (node.num_inputs() != 2) return kNoValue;
  if (node.input(0) == known) return node.input(1);
  return node.input(1) == known ? node.input(0) : kNoValue;
}

bool is_number(const Graph& graph, ValueId id, double expected) {
  if (!id.valid()) return false;
  const Value& value = graph.value(id);
  return value.constant != nullptr && value.constant->num_elements() == 1 &&
         std::fabs(element_as_double(*value.constant, 0) - expected) < 1e-3 * expected;
}

// The only user of a value; invalid if there are more, or the value is a result.
NodeId sole_user(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.consumers.size() != 1 || graph.is_output(id)) return {};
  return value.consumers[0];
}

// `id` as the only user of `value` that does `op` with `number`.
NodeId user_with_number(const Graph& graph, ValueId value, std::string_view op, double number) {
  const NodeId id = sole_user(graph, value);
  if (!id.valid()) return {};
  const NodeView node(graph, id);
  return node.op() == op && is_number(graph, beside(node, value), number) ? id : NodeId{};
}

// x of erf(x / sqrt(2)).
ValueId scaled_input(const Graph& graph, ValueId id) {
  const NodeId producer = graph.value(id).producer;
  if (!producer.valid()) return kNoValue;
  const NodeView node(graph, producer);
  if (node.op() == "Div" && is_number(graph, node.input(1), std::numbers::sqrt2)) {
    return node.input(0);
  }
  if (node.op() != "Mul") return kNoValue;
  for (size_t i = 0; i < 2; ++i) {
    if (is_number(graph, node.input(i), std::numbers::sqrt2 / 2)) return node.input(1 - i);
  }
  return kNoValue;
}

bool is_half_of(const Graph& graph, ValueId id, ValueId x) {
  const NodeId producer = graph.value(id).producer;
  if (!producer.valid()) return false;
  const NodeView node(graph, producer);
  return node.op() == "Mul" && is_number(graph, beside(node, x), 0.5);
}

// The node that gives the result of Gelu whose Erf is `erf`; invalid if the pattern is another.
NodeId gelu_result(const Graph& graph, const NodeView& erf, ValueId x) {
  const NodeId sum = user_with_number(graph, erf.output(0), "Add", 1.0);
  if (!sum.valid()) return {};
  const ValueId gate = graph.node(sum).outputs[0];
  const NodeId product = sole_user(graph, gate);
  if (!product.valid() || graph.node(product).op != "Mul") return {};
  const ValueId other = beside({graph, product}, gate);
  if (!other.valid()) return {};
  if (is_half_of(graph, other, x)) return product;
  const ValueId whole = graph.node(product).outputs[0];
  if (other == x) return user_with_number(graph, whole, "Mul", 0.5);
  // gate * 0.5, then by x
  if (!is_number(graph, other, 0.5)) return {};
  const NodeId last = sole_user(graph, whole);
  const bool by_x =
      last.valid() && graph.node(last).op == "Mul" && beside({graph, last}, whole) == x;
  return by_x ? last : NodeId{};
}

void replace_by(Graph& graph, NodeId result, std::string_view op, ValueId x) {
  const ValueId y = graph.node(result).outputs[0];
  const std::string output = graph.unique_name(graph.value(y).name + "." + std::string(op));
  const TensorType type = graph.value(y).type;
  const NodeId made =
      graph.add_node(output, std::string(op), {x}, {}, std::vector<std::string>{output},
                     std::vector<TensorType>{type});
  graph.replace_uses(y, graph.node(made).outputs[0]);
}

}  // namespace

bool fuse_gelu(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    if (graph.node(id).erased) continue;
    const NodeView node(graph, id);
    if (node.op() == "Erf" && node.input_type(0).dtype == DType::kF32) {
      const ValueId x = scaled_input(graph, node.input(0));
      const NodeId result = x.valid() ? gelu_result(graph, node, x) : NodeId{};
      if (!result.valid()) continue;
      replace_by(graph, result, "Gelu", x);
      changed = true;
    } else if (node.op() == "Sigmoid" && node.input_type(0).dtype == DType::kF32) {
      const NodeId product = sole_user(graph, node.output(0));
      if (!product.valid() || graph.node(product).op != "Mul") continue;
      if (beside({graph, product}, node.output(0)) != node.input(0)) continue;
      replace_by(graph, product, "Swish", node.input(0));
      changed = true;
    }
  }
  if (changed) graph.sort();
  return changed;
}

}  // namespace trainyard::passes
