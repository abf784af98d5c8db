// fuse_activation: an activation of the result of a convolution, matrix product or scaling is
// applied by that operator itself.
#include "ops/math/activation.h"
#include "ops/op_def.h"
#include "ops/passes/edit.h"
#include "ops/passes/pass.h"

namespace trainyard::passes {
namespace {

// Scalings do only what costs them nothing; products have work enough to hide the rest.
bool can_apply(const ops::OpDef& producer, const ops::OpDef& activation) {
  if (producer.with_activation.empty()) return false;
  const bool product =
      producer.kind == ops::OpKind::kConvolution || producer.kind == ops::OpKind::kLinear;
  return product || activation.fused_by == ops::FusedBy::kAll;
}

}  // namespace

bool fuse_activation(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    if (ops::op_of(node).fused_by == ops::FusedBy::kNone) continue;
    if (node.input_type(0).dtype != DType::kF32) continue;
    const ops::ActivationSpec activation = ops::activation_from(node);
    if (activation.op.empty()) continue;
    const ValueId x = node.input(0);
    const NodeId producer = sole_producer(graph, x);
    if (!producer.valid()) continue;
    if (!can_apply(ops::op_of({graph, producer}), ops::op_of(node))) continue;
    Node& made_by = graph.mutable_node(producer);
    if (made_by.attributes.contains("activation")) continue;
    made_by.op = ops::op_of({graph, producer}).with_activation;
    made_by.attributes["activation"] = activation.op;
    made_by.attributes["activation_alpha"] = activation.alpha;
    made_by.attributes["activation_beta"] = activation.beta;
    bypass(graph, id, x);
    changed = true;
  }
  return changed;
}

}  // namespace trainyard::passes
