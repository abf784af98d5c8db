// fuse_matmul_bias: MatMul of a matrix by constant weights, and a constant row added to it, become
// one Gemm.
#include "ops/passes/edit.h"
#include "ops/passes/pass.h"

namespace trainyard::passes {
namespace {

// The constant operand of an Add that is one number per column of its result; kNoValue if none.
ValueId column_bias(const NodeView& add, ValueId product) {
  const ValueId other = add.input(0) == product ? add.input(1) : add.input(0);
  const Value& value = add.graph().value(other);
  const int64_t columns = add.output_shape(0).dim(-1);
  if (value.kind != ValueKind::kInitializer || value.type.shape != Shape{columns}) return kNoValue;
  return other;
}

}  // namespace

bool fuse_matmul_bias(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    const NodeView product(graph, id);
    if (product.op() != "MatMul" || product.input_constant(1) == nullptr) continue;
    if (product.input_shape(0).rank() != 2 || product.input_shape(1).rank() != 2) continue;
    const ValueId y = product.output(0);
    graph.mutable_node(id).op = "Gemm";
    changed = true;
    if (graph.value(y).consumers.size() != 1 || graph.is_output(y)) continue;
    const NodeId user = graph.value(y).consumers[0];
    if (graph.node(user).op != "Add") continue;
    const ValueId bias = column_bias({graph, user}, y);
    if (!bias.valid()) continue;
    set_input(graph, id, 2, bias);
    bypass(graph, user, y);
  }
  if (changed) graph.sort();
  return changed;
}

}  // namespace trainyard::passes
