#include "analysis/parameters.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/op_def.h"

namespace trainyard::analysis {
namespace {

// Whether output 0 has the elements of input 0, moved, repeated, left out or changed one by one.
bool carries_elements(const NodeView& node) {
  if (ops::is_view(node) || node.op() == "Transpose" || node.op() == "Cast" ||
      node.op() == "DequantizeLinear") {
    return true;
  }
  if (ops::op_of(node).gradient == nullptr) return false;
  if (node.op() == "Expand" || node.op() == "Tile" || node.op() == "Slice") return true;
  return node.num_inputs() == 1 && node.num_outputs() == 1 &&
         node.input_shape(0) == node.output_shape(0);
}

// The initializer that the elements of `id` come from; kNoValue if they are computed otherwise.
ValueId origin(const Graph& graph, ValueId id) {
  while (id.valid() && graph.value(id).producer.valid()) {
    const NodeView node(graph, graph.value(id).producer);
    id = carries_elements(node) && node.has_input(0) ? node.input(0) : kNoValue;
  }
  if (!id.valid() || graph.value(id).kind != ValueKind::kInitializer) return kNoValue;
  return id;
}

int64_t long_dimensions(const Shape& shape) {
  return std::count_if(shape.dims().begin(), shape.dims().end(), [](int64_t d) { return d != 1; });
}

bool is_product(const ops::OpDef& op) {
  return op.kind == ops::OpKind::kConvolution || op.kind == ops::OpKind::kLinear;
}

bool is_layer(const ops::OpDef& op) {
  return op.kind != ops::OpKind::kElementwise && !op.roles.empty();
}

// Two different numbers of which one is 0, or numbers that are not finite.
bool is_mask(const Value& value) {
  if (value.constant == nullptr || value.type.dtype != DType::kF32) return false;
  std::set<float> different;
  for (const float number : value.constant->values<float>()) {
    if (!std::isfinite(number)) return true;
    different.insert(number);
    if (different.size() > 2) return false;
  }
  return different.size() == 2 && different.contains(0);
}

class Search {
 public:
  explicit Search(const Graph& graph)
      : graph_(graph),
        nodes_(graph.node_ids()),
        learned_(graph.value_limit(), false),
        seen_(graph.value_limit(), false),
        layer_ahead_(graph.value_limit(), false) {
    for (auto id = nodes_.rbegin(); id != nodes_.rend(); ++id) look_ahead(*id);
  }

  ParameterSearch run() {
    for (const NodeId id : nodes_) visit(id);
    // Without a layer there is nothing to tell weights from constants by: y = x + b has b to train.
    if (found_.parameters.empty()) {
      without_layers_ = true;
      for (const NodeId id : nodes_) visit(id);
    }
    for (const NodeId id : nodes_) note_fixed(id);
    return std::move(found_);
  }

 private:
  static size_t at(ValueId id) { return static_cast<size_t>(id.index); }

  void look_ahead(NodeId id) {
    const NodeView node(graph_, id);
    bool ahead = is_layer(ops::op_of(node));
    for (const ValueId output : node.node().outputs) {
      ahead = ahead || (output.valid() && layer_ahead_[at(output)]);
    }
    for (const ValueId input : node.node().inputs) {
      if (input.valid() && ahead) layer_ahead_[at(input)] = true;
    }
  }

  void visit(NodeId id) {
    const NodeView node(graph_, id);
    const ops::OpDef& op = ops::op_of(node);
    bool learned = false;
    for (size_t i = 0; i < node.num_inputs(); ++i) {
      if (!node.has_input(i)) continue;
      learned = learned || learned_[at(node.input(i))];
      const ValueId value = origin(graph_, node.input(i));
      if (!value.valid()) continue;
      const ops::ParamRole role = role_of(node, op, i, value);
      if (role == ops::ParamRole::kNone) continue;
      learned = true;
      if (seen_[at(value)]) continue;
      seen_[at(value)] = true;
      found_.parameters.push_back({value, id, role});
    }
    for (const ValueId output : node.node().outputs) {
      if (output.valid()) learned_[at(output)] = learned;
    }
  }

  ops::ParamRole role_of(const NodeView& node, const ops::OpDef& op, size_t input,
                         ValueId value) const {
    const ops::ParamRole role = ops::param_role(op, input);
    if (node.op() == "Concat") {
      return is_float(node.input_type(input).dtype) && joins_learned(node) ? ops::ParamRole::kWeight
                                                                           : ops::ParamRole::kNone;
    }
    if (role == ops::ParamRole::kNone) return role;
    // Quantized weights are factors of products.
    if (!is_float(node.input_type(input).dtype)) {
      return is_product(op) ? role : ops::ParamRole::kNone;
    }
    const bool counts = op.kind != ops::OpKind::kElementwise || without_layers_ ||
                        counts_beside(node, op, input, value);
    return counts ? role : ops::ParamRole::kNone;
  }

  bool joins_learned(const NodeView& node) const {
    const std::vector<ValueId>& inputs = node.node().inputs;
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](ValueId input) { return input.valid() && learned_[at(input)]; });
  }

  // Of an element-wise operator: see the header.
  bool counts_beside(const NodeView& node, const ops::OpDef& op, size_t input,
                     ValueId value) const {
    const size_t other = 1 - input;
    // Slopes of PRelu stand where nothing else can.
    if (ops::param_role(op, other) == ops::ParamRole::kNone) return true;
    if (!learned_[at(node.input(other))]) return false;
    const Shape& shape = graph_.value(value).type.shape;
    const int64_t dimensions = long_dimensions(shape);
    if (dimensions == 1) return true;
    if (dimensions > 1) return layer_ahead_[at(node.output(0))] && !is_mask(graph_.value(value));
    const NodeId producer = graph_.value(node.input(other)).producer;
    return shape.rank() == 1 && node.output_shape(0).dim(-1) == 1 && producer.valid() &&
           is_product(ops::op_of({graph_, producer}));
  }

  void note_fixed(NodeId id) {
    const NodeView node(graph_, id);
    if (ops::op_of(node).gradient == nullptr || !node.has_output(0)) return;
    if (!is_float(node.output_type(0).dtype) || carries_elements(node)) return;
    for (size_t i = 0; i < node.num_inputs(); ++i) {
      const ValueId value = node.has_input(i) ? origin(graph_, node.input(i)) : kNoValue;
      if (!value.valid() || seen_[at(value)]) continue;
      const TensorType& type = graph_.value(value).type;
      if (!is_float(type.dtype) || long_dimensions(type.shape) == 0) continue;
      seen_[at(value)] = true;
      found_.fixed.push_back(value);
    }
  }

  const Graph& graph_;
  std::vector<NodeId> nodes_;
  std::vector<bool> learned_;      // by value: does it depend on a parameter?
  std::vector<bool> seen_;         // by value
  std::vector<bool> layer_ahead_;  // by value: does a layer use it, or what is made of it?
  bool without_layers_ = false;    // every operand counts
  ParameterSearch found_;
};

}  // namespace

ParameterSearch search_parameters(const Graph& graph) {
  return Search(graph).run();
}

std::vector<Parameter> find_parameters(const Graph& graph) {
  return search_parameters(graph).parameters;
}

}  // namespace trainyard::analysis
