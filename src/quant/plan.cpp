#include "quant/plan.h"

#include <algorithm>
#include <numeric>

#include "ops/op_def.h"

namespace trainyard::quant {
namespace {

using Role = ops::Int8Form;

bool computed_floats(const NodeView& node, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!node.has_input(i) || node.input_type(i).dtype != DType::kF32) return false;
    if (node.input_constant(i) != nullptr) return false;
  }
  return true;
}

// The inputs that carry activations.
size_t activations_of(const NodeView& node) {
  const bool many = ops::op_of(node).kind == ops::OpKind::kElementwise ||
                    ops::movement_of(node) == ops::Movement::kJoined;
  return many ? node.num_inputs() : 1;
}

// Sums of like shapes; anything of one activation.
bool alike(const NodeView& node) {
  for (size_t i = 1; i < activations_of(node); ++i) {
    if (node.input_shape(i) != node.input_shape(0)) return false;
  }
  return true;
}

// Zero has a step wherever there are steps, so padding with it hands on steps, too.
bool hands_on_steps(const NodeView& node) {
  return ops::movement_of(node) != ops::Movement::kComputed && !node.has_output(1);
}

Role role_of(const NodeView& node) {
  if (node.num_outputs() == 0 || node.output_type(0).dtype != DType::kF32) return Role::kNone;
  const Role role = ops::op_of(node).int8;
  if (role == Role::kNone || role == Role::kLayer) return is_layer(node) ? role : Role::kNone;
  const bool can = role == Role::kJoin ? alike(node) : hands_on_steps(node);
  return can && computed_floats(node, activations_of(node)) ? role : Role::kNone;
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
      if (ops::movement_of(node) != ops::Movement::kJoined || !is_result_of_layer(input)) {
        return false;
      }
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
    if (role == Role::kNone || (role == Role::kLayer && !plan_.is_int8(id))) return;
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
  if (ops::op_of(node).int8 != ops::Int8Form::kLayer) return false;
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
