// normalize_quantized: QLinearConv and QLinearMatMul become the operators between DequantizeLinear
// and QuantizeLinear that define them, and i8 between such becomes u8, so that one pass knows all
// quantized graphs.
#include <algorithm>

#include "ops/builder.h"
#include "ops/passes/edit.h"
#include "ops/passes/quantized_match.h"

namespace trainyard::passes {
namespace {

using ops::Builder;

bool is_one_number(const NodeView& node, size_t input) {
  const Tensor* constant = node.input_constant(input);
  return constant != nullptr && constant->num_elements() == 1;
}

// Zero points of weights that quantized convolutions take; others stay what they are.
bool has_plain_zero(const NodeView& node, size_t input) {
  const Tensor* zeros = node.input_constant(input);
  if (zeros == nullptr) return false;
  const int64_t expected = zeros->dtype() == DType::kU8 ? 128 : 0;
  for (int64_t i = 0; i < zeros->num_elements(); ++i) {
    if (element_as_int(*zeros, i) != expected) return false;
  }
  return true;
}

// x, scale, zero, w, scale, zero, y scale, y zero, bias
bool can_expand(const NodeView& node) {
  for (const size_t i : {1, 2, 6, 7}) {
    if (!is_one_number(node, i) || node.input_type(1).dtype != DType::kF32) return false;
  }
  return node.input_constant(3) != nullptr && node.input_constant(4) != nullptr &&
         has_plain_zero(node, 5) && (!node.has_input(8) || node.input_constant(8) != nullptr);
}

ValueId dequantized_bias(Builder& b, const NodeView& node) {
  const Tensor* x_scale = node.input_constant(1);
  const Tensor* w_scale = node.input_constant(4);
  std::vector<float> scales;
  for (const float scale : w_scale->values<float>()) {
    scales.push_back(x_scale->values<float>()[0] * scale);
  }
  const Shape shape = scales.size() == 1 ? Shape{} : Shape{static_cast<int64_t>(scales.size())};
  const ValueId scale = b.constant(b.graph().unique_name(node.name() + ".bias_scale"),
                                   Tensor::of<float>(shape, scales));
  return b.add("DequantizeLinear", {node.input(8), scale}, {{"axis", int64_t{0}}});
}

bool expand(Graph& graph, NodeId id) {
  const bool conv = graph.node(id).op == "QLinearConv";
  if (!conv && graph.node(id).op != "QLinearMatMul") return false;
  const NodeView node(graph, id);
  if (!can_expand(node)) return false;
  Builder b(graph);
  const int64_t axis = conv ? 0 : node.input_shape(3).rank() - 1;
  const Attributes own = node.node().attributes;
  const ValueId y_scale = node.input(6);
  const ValueId y_zero = node.input(7);
  std::vector<ValueId> operands = {
      b.add("DequantizeLinear", {node.input(0), node.input(1), node.input(2)}),
      b.add("DequantizeLinear", {node.input(3), node.input(4), node.input(5)}, {{"axis", axis}})};
  if (conv && node.has_input(8)) operands.push_back(dequantized_bias(b, node));
  const std::string name = graph.unique_name(graph.node(id).name + ".real");
  const ValueId real = b.add(conv ? "Conv" : "MatMul", std::move(operands), own, name);
  bypass(graph, id, b.add("QuantizeLinear", {real, y_scale, y_zero}));
  return true;
}

void shift_zero(Graph& graph, NodeId id, int64_t zero) {
  constexpr int64_t kHalf = 128;
  const auto shifted = static_cast<uint8_t>(zero + kHalf);
  const Shape shape = NodeView(graph, id).input_shape(1);
  set_input(graph, id, 2,
            add_constant(graph, graph.node(id).name + ".zero",
                         Tensor::of<uint8_t>(shape, std::span<const uint8_t>(&shifted, 1))));
  graph.mutable_node(id).attributes.erase("output_dtype");
}

// Steps of i8 that only DequantizeLinear reads are steps of u8 with another zero point.
bool unsign(Graph& graph, NodeId id) {
  const std::optional<Steps> y = quantized_by(graph, id);
  if (!y || y->dtype != DType::kI8 || graph.is_output(y->value)) return false;
  const std::vector<NodeId> users = graph.value(y->value).consumers;
  for (const NodeId user : users) {
    if (graph.node(user).op != "DequantizeLinear" || graph.node(user).inputs[0] != y->value ||
        !dequantized_from(graph, graph.node(user).outputs[0])) {
      return false;
    }
  }
  for (const NodeId user : users) {
    shift_zero(graph, user, dequantized_from(graph, graph.node(user).outputs[0])->zero);
  }
  shift_zero(graph, id, y->zero);
  graph.mutable_value(y->value).type.dtype = DType::kU8;
  return true;
}

}  // namespace

bool normalize_quantized(Graph& graph, const PassContext& context) {
  if (!context.fast_bytes) return false;
  bool changed = false;
  for (const NodeId id : graph.node_ids()) changed = expand(graph, id) || changed;
  if (changed) graph.sort();
  for (const NodeId id : graph.node_ids()) changed = unsign(graph, id) || changed;
  return changed;
}

}  // namespace trainyard::passes
