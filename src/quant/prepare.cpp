#include "quant/prepare.h"

#include <cmath>
#include <map>
#include <vector>

#include "base/error.h"
#include "engine/dynamic_node.h"
#include "ir/node_view.h"
#include "ops/passes/pass.h"

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

// Folding a last normalization leaves the name of the node in front of it; who runs the network
// asks for the old one. Gives the new name of each that changed.
std::map<std::string, std::string> restore_outputs(Graph& graph,
                                                   const std::vector<std::string>& names) {
  std::map<std::string, std::string> renamed;
  for (size_t i = 0; i < names.size(); ++i) {
    const ValueId id = graph.outputs()[i];
    const std::string now = graph.value(id).name;
    // An input, a weight or another output that is given as it is keeps its name.
    const bool taken = graph.find_value(names[i]).valid() || renamed.contains(now);
    if (now == names[i] || taken || !graph.value(id).producer.valid()) continue;
    graph.rename_value(id, names[i]);
    renamed[now] = names[i];
  }
  return renamed;
}

}  // namespace

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

Prepared prepare(Graph graph, uint64_t seed) {
  require_float(graph);
  for (const ValueId id : graph.initializers()) {
    graph.mutable_value(id).constant = initializer_data(graph.value(id), seed);
  }
  graph.sort();
  const std::vector<Found> found = find_normalizations(graph);
  std::vector<std::string> outputs;
  for (const ValueId id : graph.outputs()) outputs.push_back(graph.value(id).name);
  const passes::PassContext context{.evaluate = runtime::evaluate_node};
  for (const passes::Pass& pass : passes::standard_passes().passes) pass.run(graph, context);
  open_batch(graph);
  const std::map<std::string, std::string> renamed = restore_outputs(graph, outputs);
  graph.sort();

  Prepared prepared{std::move(graph), {}};
  for (const Found& one : found) {
    const bool folded = !prepared.graph.find_node(one.node).valid();
    const std::string& value = folded ? one.input : one.output;
    const auto now = renamed.find(value);
    prepared.normalized[now == renamed.end() ? value : now->second] = one.normalized;
  }
  return prepared;
}

}  // namespace trainyard::quant
