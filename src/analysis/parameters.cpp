#include "analysis/parameters.h"

#include <algorithm>

#include "analysis/storage.h"

namespace trainyard::analysis {
namespace {

// The initializer that `id` is a view, a transpose or another type of; kNoValue if it is computed.
ValueId origin(const Graph& graph, ValueId id) {
  while (id.valid() && graph.value(id).producer.valid()) {
    const NodeView node(graph, graph.value(id).producer);
    const bool same_elements = is_view(node) || node.op() == "Transpose" || node.op() == "Cast" ||
                               node.op() == "DequantizeLinear";
    id = same_elements && node.has_input(0) ? node.input(0) : kNoValue;
  }
  if (!id.valid() || graph.value(id).kind != ValueKind::kInitializer) return kNoValue;
  return id;
}

bool is_vector(const Shape& shape) {
  return std::count_if(shape.dims().begin(), shape.dims().end(),
                       [](int64_t d) { return d != 1; }) == 1;
}

bool counts(const NodeView& node, const ops::OpDef& op, size_t input, const Value& initializer) {
  const bool product = op.kind == ops::OpKind::kConvolution || op.kind == ops::OpKind::kLinear;
  if (!is_float(node.input_type(input).dtype)) return product;  // quantized weights
  return op.kind != ops::OpKind::kElementwise || is_vector(initializer.type.shape);
}

}  // namespace

std::vector<Parameter> find_parameters(const Graph& graph) {
  std::vector<Parameter> parameters;
  std::vector<bool> seen(graph.value_limit(), false);
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    const ops::OpDef& op = ops::op_of(node);
    for (size_t i = 0; i < std::min(node.num_inputs(), op.roles.size()); ++i) {
      const ops::ParamRole role = ops::param_role(op, i);
      if (role == ops::ParamRole::kNone || !node.has_input(i)) continue;
      const ValueId value = origin(graph, node.input(i));
      if (!value.valid() || seen[static_cast<size_t>(value.index)]) continue;
      if (!counts(node, op, i, graph.value(value))) continue;
      seen[static_cast<size_t>(value.index)] = true;
      parameters.push_back({value, id, role});
    }
  }
  return parameters;
}

}  // namespace trainyard::analysis
