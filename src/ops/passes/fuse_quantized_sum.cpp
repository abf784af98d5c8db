// fuse_quantized_sum: a QuantizedAdd of the result of a QuantizedConv is done by the convolution.
#include "ops/passes/edit.h"
#include "ops/passes/pass.h"
#include "ops/quantize/quantized.h"

namespace trainyard::passes {
namespace {

bool can_take_quantized_sum(const Graph& graph, ValueId id) {
  const NodeId producer = sole_producer(graph, id);
  if (!producer.valid()) return false;
  const NodeView conv(graph, producer);
  return conv.op() == "QuantizedConv" && !conv.has_input(ops::kQuantizedSum) &&
         conv.has_attr("y_zero");
}

void take_sum(Graph& graph, NodeId id, size_t own) {
  const NodeView add(graph, id);
  const bool first = own == 0;
  const ValueId product = add.input(own);
  const NodeId conv = graph.value(product).producer;
  Attributes& attributes = graph.mutable_node(conv).attributes;
  attributes["own_ratio"] = add.attr_float(first ? "a_ratio" : "b_ratio", 1);
  attributes["sum_ratio"] = add.attr_float(first ? "b_ratio" : "a_ratio", 1);
  attributes["sum_zero"] = add.attr_int(first ? "b_zero" : "a_zero", 0);
  const ops::StepsToBytes bytes = ops::result_bytes(add);
  attributes["out_zero"] = bytes.zero;
  attributes["out_low"] = bytes.low;
  attributes["out_high"] = bytes.high;
  set_input(graph, conv, ops::kQuantizedSum, add.input(1 - own));
  bypass(graph, id, product);
}

}  // namespace

bool fuse_quantized_sum(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  std::vector<size_t> position(graph.node_limit(), 0);
  size_t count = 0;
  for (const NodeId id : graph.node_ids()) position[static_cast<size_t>(id.index)] = count++;
  for (const NodeId id : graph.node_ids()) {
    const NodeView add(graph, id);
    if (add.op() != "QuantizedAdd" || add.input(0) == add.input(1)) continue;
    // The later of two convolutions takes the result of the other.
    size_t own = 2;
    size_t latest = 0;
    for (size_t i = 0; i < 2; ++i) {
      if (!can_take_quantized_sum(graph, add.input(i))) continue;
      const size_t at = position[static_cast<size_t>(graph.value(add.input(i)).producer.index)];
      if (own == 2 || at > latest) {
        own = i;
        latest = at;
      }
    }
    if (own == 2) continue;
    take_sum(graph, id, own);
    changed = true;
  }
  if (changed) graph.sort();
  return changed;
}

}  // namespace trainyard::passes
