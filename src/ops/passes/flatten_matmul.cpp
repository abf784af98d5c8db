// flatten_matmul: rows of several dimensions times constant weights, with the bias and activation
// after it, become rows of a matrix: the passes that follow make one FusedGemm of them. Reshaping
// costs nothing.
#include "ops/math/activation.h"
#include "ops/passes/edit.h"
#include "ops/passes/pass.h"

namespace trainyard::passes {
namespace {

bool can_flatten(const NodeView& node) {
  if (node.op() != "MatMul" || node.input_constant(1) == nullptr) return false;
  const Shape& x = node.input_shape(0);
  return x.rank() > 2 && x.is_static() && x.num_elements() > 0 && node.input_shape(1).rank() == 2;
}

// Is this the sum of `x` and one number for each column, or an activation of `x`?
bool works_on_rows(const NodeView& node, ValueId x) {
  if (!ops::activation_from(node).op.empty()) return true;
  if (node.op() != "Add") return false;
  const ValueId other = node.input(0) == x ? node.input(1) : node.input(0);
  const Shape columns{node.output_shape(0).dim(-1)};
  return node.graph().value(other).constant != nullptr &&
         node.graph().value(other).type.shape == columns;
}

class Flattener {
 public:
  explicit Flattener(Graph& graph) : graph_(graph) {}

  void flatten(NodeId id) {
    const Shape x = NodeView(graph_, id).input_shape(0);
    const int64_t rows = x.num_elements(0, x.rank() - 1);
    ValueId old = graph_.node(id).inputs[0];
    ValueId flat = reshape(id, old, {rows, x.dim(-1)});
    for (NodeId next = id; next.valid(); next = row_wise_user(old)) {
      std::vector<ValueId> inputs = graph_.node(next).inputs;
      for (ValueId& input : inputs) {
        if (input == old) input = flat;
      }
      old = graph_.node(next).outputs[0];
      const Shape& y = graph_.value(old).type.shape;
      flat = add(next, graph_.node(next).op, std::move(inputs), graph_.node(next).attributes,
                 {rows, y.dim(-1)});
    }
    const Shape y = graph_.value(old).type.shape;
    graph_.replace_uses(old, reshape(id, flat, y));
  }

 private:
  NodeId row_wise_user(ValueId id) const {
    const Value& value = graph_.value(id);
    if (value.consumers.size() != 1 || graph_.is_output(id)) return {};
    const NodeId user = value.consumers[0];
    return works_on_rows({graph_, user}, id) ? user : NodeId{};
  }
  ValueId reshape(NodeId like, ValueId id, const Shape& shape) {
    const ValueId target = add_constant(graph_, "rows.shape", Tensor::of_ints(shape.vector()));
    return add(like, "Reshape", {id, target}, {}, shape);
  }
  ValueId add(NodeId like, std::string op, std::vector<ValueId> inputs, Attributes attributes,
              Shape shape) {
    const std::string name = graph_.unique_name(graph_.node(like).name + ".rows");
    const NodeId id = graph_.add_node(name, std::move(op), std::move(inputs), std::move(attributes),
                                      std::vector<std::string>{name},
                                      std::vector<TensorType>{{DType::kF32, std::move(shape)}});
    return graph_.node(id).outputs[0];
  }

  Graph& graph_;
};

}  // namespace

bool flatten_matmul(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    if (!can_flatten(node) || node.input_type(0).dtype != DType::kF32) continue;
    Flattener(graph).flatten(id);
    changed = true;
  }
  if (changed) graph.sort();
  return changed;
}

}  // namespace trainyard::passes
