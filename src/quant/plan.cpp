#include "quant/plan.h"

#include <algorithm>
#include <numeric>

#include "ops/op_def.h"

namespace trainyard::quant {
namespace {

enum class Role : uint8_t {
  kFloat,
  kLayer,
  kJoin,  // computes on steps and has steps of its own: sums, means
  kMove,  // hands on steps: its result has those of its inputs
};

bool computed_floats(const NodeView& node, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!node.has_input(i) || node.input_type(i).dtype != DType::kF32) return false;
    if (node.input_constant(i) != nullptr) return false;
  }
  return true;
}

// Zero has a step wherever there are steps.
bool pads_with_zeros(const NodeView& node) {
  if (node.attr_text("mode", "constant") != "constant") return false;
  if (!node.has_input(2)) return true;
  const Tensor* fill = node.input_constant(2);
  return fill != nullptr && element_as_double(*fill, 0) == 0;
}

bool moves_data(const NodeView& node) {
  static const std::set<std::string, std::less<>> kMoves = {
      "Flatten", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "DepthToSpace", "SpaceToDepth"};
  if (kMoves.contains(node.op()) || node.op() == "Slice") return true;
  if (node.op() == "Pad") return pads_with_zeros(node);
  if (node.op() == "MaxPool") return !node.has_output(1);
  return node.op() == "Resize" && node.attr_text("mode", "nearest") == "nearest";
}

Role role_of(const NodeView& node) {
  if (node.num_outputs() == 0 || node.output_type(0).dtype != DType::kF32) return Role::kFloat;
  if (is_layer(node)) return Role::kLayer;
  if (node.op() == "Add") {
    const bool alike = computed_floats(node, 2) && node.input_shape(0) == node.input_shape(1);
    return alike ? Role::kJoin : Role::kFloat;
  }
  if (node.op() == "AveragePool" || node.op() == "GlobalAveragePool") {
    return computed_floats(node, 1) ? Role::kJoin : Role::kFloat;
  }
  if (node.op() == "Concat") {
    return computed_floats(node, node.num_inputs()) ? Role::kMove : Role::kFloat;
  }
  return moves_data(node) && computed_floats(node, 1) ? Role::kMove : Role::kFloat;
}

// The inputs that carry activations.
size_t activations_of(const NodeView& node) {
  return node.op() == "Concat" ? node.num_inputs() : node.op() == "Add" ? 2 : 1;
}

// Relu and Clip with a lower end of zero: what rounding to unsigned steps can do on the way.
bool is_clamp(const NodeView& node) {
  if (node.op() == "Relu") return true;
  if (node.op() != "Clip" || !node.has_input(1)) return false;
  const Tensor* low = node.input_constant(1);
  return low != nullptr && element_as_double(*low, 0) == 0;
}

class Planner {
 public:
  Planner(const Graph& graph, const PlanOptions& options)
      : graph_(graph),
        options_(options),
        can_(graph.value_limit(), false),
        wanted_(graph.value_limit(), false) {}

  Plan run() {
    plan_.round_outputs = options_.round_all_results;
    const std::vector<NodeId> order = graph_.node_ids();
    for (const NodeId id : order) choose_layer(id);
    for (const NodeId id : order) follow(id);
    for (auto it = order.rbegin(); it != order.rend(); ++it) look_back(*it);
    collect(order);
    return std::move(plan_);
  }

 private:
  auto at(ValueId id) const { return static_cast<size_t>(id.index); }
  bool in_steps(ValueId id) const { return can_[at(id)] || wanted_[at(id)]; }

  void choose_layer(NodeId id) {
    const NodeView node(graph_, id);
    if (role_of(node) != Role::kLayer) return;
    plan_.layers.push_back(id);
    if (options_.keep_float.contains(node.name())) return;
    plan_.int8.insert(id);
    wanted_[at(node.input(0))] = true;
  }

  // What moves steps cannot clamp them on the way.
  ValueId result_of(NodeId id) const {
    return role_of({graph_, id}) == Role::kMove ? graph_.node(id).outputs[0]
                                                : rounded_result(graph_, id);
  }

  // Are all inputs in steps? Concatenations of one that is made in steps round results of float
  // layers beside it: else what is made in steps would be converted to floats and back. (A sum is
  // better off in float, where the layer itself adds.)
  bool takes_steps(const NodeView& node) const {
    bool made = false;
    bool rounds = false;
    for (size_t i = 0; i < activations_of(node); ++i) {
      const ValueId input = node.input(i);
      made = made || can_[at(input)];
      if (in_steps(input)) continue;
      if (node.op() != "Concat" || !is_result_of_layer(input)) return false;
      rounds = true;
    }
    return made || !rounds;
  }

  bool is_result_of_layer(ValueId id) const {
    NodeId producer = graph_.value(id).producer;
    if (producer.valid() && is_clamp({graph_, producer})) {
      producer = graph_.value(NodeView(graph_, producer).input(0)).producer;
    }
    return producer.valid() && rounded_result(graph_, producer) == id &&
           role_of({graph_, producer}) == Role::kLayer;
  }

  // Forward: what can be had in steps without a conversion.
  void follow(NodeId id) {
    const NodeView node(graph_, id);
    const Role role = role_of(node);
    if (role == Role::kFloat || (role == Role::kLayer && !plan_.is_int8(id))) return;
    if (role != Role::kLayer) {
      if (!takes_steps(node)) return;
      carried_.insert(id);
    }
    can_[at(result_of(id))] = true;
    if (role == Role::kLayer && options_.round_all_results) wanted_[at(result_of(id))] = true;
  }

  // Backward: of these, what an int8 layer needs further on.
  void look_back(NodeId id) {
    if (!carried_.contains(id)) return;
    const NodeView node(graph_, id);
    if (!wanted_[at(result_of(id))]) {
      carried_.erase(id);
      return;
    }
    for (size_t i = 0; i < activations_of(node); ++i) wanted_[at(node.input(i))] = true;
  }

  void collect(const std::vector<NodeId>& order) {
    std::vector<size_t> parent(graph_.value_limit());
    std::iota(parent.begin(), parent.end(), size_t{0});
    const auto root = [&](size_t v) {
      while (parent[v] != v) v = parent[v] = parent[parent[v]];
      return v;
    };
    for (const NodeId id : order) {
      const NodeView node(graph_, id);
      if (!carried_.contains(id) || role_of(node) != Role::kMove) continue;
      for (size_t i = 0; i < activations_of(node); ++i) {
        parent[root(at(node.input(i)))] = root(at(result_of(id)));
      }
    }
    const auto add = [&](ValueId id) {
      if (!id.valid() || !wanted_[at(id)] || plan_.group.contains(id)) return;
      plan_.values.push_back(id);
      plan_.group[id] = root(at(id));
    };
    for (const ValueId id : graph_.inputs()) add(id);
    for (const NodeId id : order) {
      for (const ValueId output : graph_.node(id).outputs) add(output);
    }
  }

  const Graph& graph_;
  const PlanOptions& options_;
  std::vector<bool> can_;
  std::vector<bool> wanted_;
  std::set<NodeId> carried_;
  Plan plan_;
};

}  // namespace

bool is_layer(const NodeView& node) {
  const std::string& op = node.op();
  if (op != "Conv" && op != "Gemm" && op != "MatMul") return false;
  if (node.input_type(0).dtype != DType::kF32 || node.input_constant(0) != nullptr) return false;
  const Tensor* weights = node.input_constant(1);
  if (weights == nullptr || weights->num_elements() == 0) return false;
  if (op == "MatMul") return weights->shape().rank() == 2;
  const bool has_bias = node.has_input(2);
  const Tensor* bias = has_bias ? node.input_constant(2) : nullptr;
  if (has_bias && bias == nullptr) return false;
  if (op == "Conv") return node.input_shape(0).rank() <= 4;
  return node.attr_float("alpha", 1) == 1 && node.attr_float("beta", 1) == 1 &&
         node.attr_int("transA", 0) == 0 &&
         (!has_bias || bias->num_elements() == node.output_shape(0)[1]);
}

int64_t output_axis(const NodeView& layer) {
  if (layer.op() == "Conv") return 0;
  if (layer.op() == "Gemm") return layer.attr_int("transB", 0) != 0 ? 0 : 1;
  return 1;
}

int64_t input_axis(const NodeView& layer) {
  return 1 - output_axis(layer);
}

ValueId rounded_result(const Graph& graph, NodeId node) {
  const ValueId result = graph.node(node).outputs[0];
  const Value& value = graph.value(result);
  if (value.consumers.size() != 1 || graph.is_output(result)) return result;
  const NodeView next(graph, value.consumers[0]);
  return is_clamp(next) ? next.output(0) : result;
}

Plan make_plan(const Graph& graph, const PlanOptions& options) {
  return Planner(graph, options).run();
}

std::map<std::string, int64_t> float_operators(const Graph& graph, const Plan& plan) {
  std::map<std::string, int64_t> counts;
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    if (plan.is_int8(id) || node.num_outputs() == 0) continue;
    if (node.output_type(0).dtype != DType::kF32) continue;
    const bool rounded =
        plan.group.contains(node.output(0)) || plan.group.contains(rounded_result(graph, id));
    if (!rounded) ++counts[node.op()];
  }
  return counts;
}

}  // namespace trainyard::quant
