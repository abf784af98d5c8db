// pool_means: the mean over the places of an image, as newer exporters write GlobalAveragePool,
// becomes that operator, whose kernels read channels in blocks.
#include "ops/math/reduce.h"
#include "ops/passes/pass.h"
#include "ops/passes/pattern.h"

namespace trainyard::passes {
namespace {

bool is_mean_of_places(const NodeView& node) {
  if (node.op() != "ReduceMean" || node.input_type(0).dtype != DType::kF32) return false;
  const Shape& x = node.input_shape(0);
  if (x.rank() != 4 || !x.is_static() || x.num_elements() == 0) return false;
  return ops::reduced_axes(node) == std::vector<bool>{false, false, true, true};
}

void make_pool(Graph& graph, NodeId id) {
  const NodeView node(graph, id);
  const ValueId x = node.input(0);
  if (node.attr_int("keepdims", 1) != 0) {
    replace_by(graph, id, "GlobalAveragePool", {x});
    return;
  }
  const Shape& shape = node.input_shape(0);
  const std::string name = graph.unique_name(node.name() + ".pool");
  const TensorType type{DType::kF32, {shape[0], shape[1], 1, 1}};
  const Shape flat{shape[0], shape[1]};
  const ValueId target = add_constant(graph, name + ".shape", Tensor::of_ints(flat.vector()));
  const NodeId pool = graph.add_node(name, "GlobalAveragePool", {x}, {}, {&name, 1}, {&type, 1});
  replace_by(graph, id, "Reshape", {graph.node(pool).outputs[0], target});
}

}  // namespace

bool pool_means(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    if (!is_mean_of_places({graph, id})) continue;
    make_pool(graph, id);
    changed = true;
  }
  if (changed) graph.sort();
  return changed;
}

}  // namespace trainyard::passes
