// fuse_normalization: a residual added to the result of a batch normalization in training, and a
// Relu or Clip of that, are computed by the normalization itself.
#include "ops/math/activation.h"
#include "ops/passes/edit.h"
#include "ops/passes/pass.h"

namespace trainyard::passes {
namespace {

constexpr size_t kResidual = 5;

// The normalization that makes `id` for one user alone and has room for more; invalid otherwise.
NodeId normalization_of(const Graph& graph, ValueId id) {
  const NodeId producer = sole_producer(graph, id);
  if (!producer.valid()) return {};
  const NodeView node(graph, producer);
  if (node.op() != "BatchNormTraining" || node.output(0) != id) return {};
  return node.has_attr("activation") ? NodeId{} : producer;
}

bool fuse_residual(Graph& graph, NodeId id, const std::vector<size_t>& position) {
  const NodeView add(graph, id);
  if ((add.op() != "Add" && add.op() != "Sum") || add.num_inputs() != 2) return false;
  NodeId latest;
  size_t operand = 0;
  for (size_t i = 0; i < 2; ++i) {
    const NodeId norm = normalization_of(graph, add.input(i));
    if (!norm.valid() || NodeView(graph, norm).has_input(kResidual)) continue;
    if (add.input_type(0) != add.input_type(1)) continue;
    const auto at = [&](NodeId node) { return position[static_cast<size_t>(node.index)]; };
    if (latest.valid() && at(norm) < at(latest)) continue;
    latest = norm;
    operand = i;
  }
  if (!latest.valid()) return false;
  const ValueId y = add.input(operand);
  set_input(graph, latest, kResidual, add.input(1 - operand));
  bypass(graph, id, y);
  return true;
}

bool fuse_clamp(Graph& graph, NodeId id) {
  const NodeView node(graph, id);
  if (node.op() != "Relu" && node.op() != "Clip") return false;
  const ops::ActivationSpec activation = ops::activation_from(node);
  const ValueId x = node.input(0);
  const NodeId norm = normalization_of(graph, x);
  if (activation.op.empty() || !norm.valid()) return false;
  Attributes& attributes = graph.mutable_node(norm).attributes;
  attributes["activation"] = activation.op;
  attributes["activation_alpha"] = activation.alpha;
  attributes["activation_beta"] = activation.beta;
  bypass(graph, id, x);
  return true;
}

}  // namespace

bool fuse_normalization(Graph& graph, const PassContext& /*context*/) {
  // The later of two normalizations takes the other's result.
  std::vector<size_t> position(graph.node_limit(), 0);
  size_t count = 0;
  for (const NodeId id : graph.node_ids()) position[static_cast<size_t>(id.index)] = count++;
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    if (fuse_residual(graph, id, position)) changed = true;
  }
  // What is added may be made after the normalization.
  if (changed) graph.sort();
  for (const NodeId id : graph.node_ids()) {
    if (fuse_clamp(graph, id)) changed = true;
  }
  return changed;
}

}  // namespace trainyard::passes
