// fuse_integer_scale: sums of ConvInteger and MatMulInteger that are cast to floats and multiplied
// by a scale, as dynamic quantization writes it, become one operator, with the bias after it.
#include "ops/passes/edit.h"
#include "ops/passes/pass.h"
#include "ops/passes/pattern.h"

namespace trainyard::passes {
namespace {

// Is this one number for each output channel, or, if `one` will do, one for all?
bool is_per_channel(const Graph& graph, ValueId id, const NodeView& node, bool one) {
  const TensorType& type = graph.value(id).type;
  if (type.dtype != DType::kF32 || !type.shape.is_static()) return false;
  const Shape& y = node.output_shape(0);
  const int64_t axis = node.op() == "ConvInteger" ? y.rank() - 1 : 1;  // from the right
  const int64_t channels = y[y.rank() - axis];
  if (type.shape.rank() > y.rank()) return false;
  if (type.shape.num_elements() == 1) return one || channels == 1;
  return type.shape.num_elements() == channels && type.shape.rank() >= axis &&
         type.shape.dim(-axis) == channels;
}

// The operand that the only user of the last node's result combines with it, if it does `op`.
ValueId take_operand(const Graph& graph, const NodeView& node, std::string_view op, bool one,
                     NodeId& last) {
  const ValueId y = graph.node(last).outputs[0];
  const NodeId user = sole_user(graph, y);
  if (!user.valid() || graph.node(user).op != op) return kNoValue;
  const ValueId other = beside({graph, user}, y);
  if (!other.valid() || other == y || !is_per_channel(graph, other, node, one)) return kNoValue;
  last = user;
  return other;
}

bool fuse(Graph& graph, NodeId id) {
  const NodeView node(graph, id);
  const bool conv = node.op() == "ConvInteger";
  if (!conv && node.op() != "MatMulInteger") return false;
  // A column of B, and so of the result, has its scale only if B is a matrix.
  if (!node.output_shape(0).is_static() || node.output_shape(0).rank() < 2) return false;
  if (!conv && node.input_shape(1).rank() != 2) return false;
  NodeId last = sole_user(graph, node.output(0));
  if (!last.valid() || graph.node(last).op != "Cast" ||
      NodeView(graph, last).output_type(0).dtype != DType::kF32) {
    return false;
  }
  const ValueId scale = take_operand(graph, node, "Mul", /*one=*/true, last);
  if (!scale.valid()) return false;
  const ValueId bias = take_operand(graph, node, "Add", /*one=*/false, last);
  std::vector<ValueId> inputs = node.node().inputs;
  inputs.resize(4, kNoValue);
  inputs.push_back(scale);
  if (bias.valid()) inputs.push_back(bias);
  const Attributes attributes = node.node().attributes;
  replace_by(graph, last, conv ? "ScaledConvInteger" : "ScaledMatMulInteger", std::move(inputs),
             attributes);
  return true;
}

}  // namespace

bool fuse_integer_scale(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) changed = fuse(graph, id) || changed;
  if (changed) graph.sort();
  return changed;
}

}  // namespace trainyard::passes
