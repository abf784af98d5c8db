#include "quant/prepare.h"

#include <cmath>

#include "base/error.h"
#include "engine/dynamic_node.h"
#include "engine/passes/pass.h"
#include "ir/node_view.h"

namespace trainyard::quant {
namespace {

void require_float(const Graph& graph) {
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    const bool quantized = node.op == "QuantizeLinear" || node.op == "DequantizeLinear" ||
                           node.op == "QLinearConv" || node.op == "QLinearMatMul" ||
                           node.op == "ConvInteger" || node.op == "MatMulInteger" ||
                           node.op == "DynamicQuantizeLinear";
    TY_REQUIRE(!quantized,
               "the network is quantized already: node '{}' is a {}; give the float "
               "network it was made from",
               node.name, node.op);
  }
}

// A BatchNormalization as found, before it is folded into the node in front of it.
struct Found {
  std::string node;
  std::string input;
  std::string output;
  Normalized normalized;
};

std::vector<Found> find_normalizations(const Graph& graph) {
  std::vector<Found> found;
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    if (node.op() != "BatchNormalization") continue;
    const Tensor* gamma = node.input_constant(1);
    const Tensor* beta = node.input_constant(2);
    if (gamma == nullptr || beta == nullptr) continue;
    Found one{node.name(), node.input_value(0).name, graph.value(node.output(0)).name, {}};
    for (int64_t c = 0; c < gamma->num_elements(); ++c) {
      one.normalized.mean.push_back(element_as_double(*beta, c));
      one.normalized.sigma.push_back(std::fabs(element_as_double(*gamma, c)));
    }
    found.push_back(std::move(one));
  }
  return found;
}

// A reshape to the batch of this graph takes it from its input instead, so that the network runs
// with any.
void open_batch(Graph& graph) {
  const int64_t batch = batch_of(graph);
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    if (node.op() != "Reshape" || node.attr_int("allowzero", 0) != 0) continue;
    const auto shape = node.input_ints(1);
    if (!shape || shape->empty() || (*shape)[0] != batch || node.input_shape(0).rank() == 0 ||
        node.input_shape(0)[0] != batch) {
      continue;
    }
    std::vector<int64_t> open = *shape;
    open[0] = 0;
    const ValueId value =
        graph.add_initializer(graph.unique_name(node.name() + ".shape"),
                              std::make_shared<const Tensor>(Tensor::of_ints(open)));
    graph.set_node_input(id, 1, value);
  }
}

}  // namespace

Prepared prepare(Graph graph, uint64_t seed) {
  require_float(graph);
  for (const ValueId id : graph.initializers()) {
    graph.mutable_value(id).constant = initializer_data(graph.value(id), seed);
  }
  graph.sort();
  const std::vector<Found> found = find_normalizations(graph);
  const passes::PassContext context{.evaluate = runtime::evaluate_node};
  for (const passes::Pass& pass : passes::standard_passes().passes) pass.run(graph, context);
  open_batch(graph);
  graph.sort();

  Prepared prepared{std::move(graph), {}};
  for (const Found& one : found) {
    const bool folded = !prepared.graph.find_node(one.node).valid();
    prepared.normalized[folded ? one.input : one.output] = one.normalized;
  }
  return prepared;
}

}  // namespace trainyard::quant
