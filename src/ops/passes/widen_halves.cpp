// widen_halves: what a file computes in f16 or bf16 is computed in f32, which is exact where those
// round and far faster. Values keep their type at the borders: inputs, results and bodies.
#include <algorithm>

#include "ops/control_flow.h"
#include "ops/inference.h"
#include "ops/layout/dtype_code.h"
#include "ops/passes/edit.h"
#include "ops/passes/pass.h"

namespace trainyard::passes {
namespace {

bool is_half(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16;
}

class HalfConversion {
 public:
  explicit HalfConversion(Graph& graph) : graph_(graph) {
    for (size_t i = 0; i < graph.value_limit(); ++i) {
      written_.push_back(graph.value({static_cast<int32_t>(i)}).type.dtype);
    }
  }

  bool run() {
    if (std::none_of(written_.begin(), written_.end(), is_half)) return false;
    const std::vector<ValueId> outputs(graph_.outputs().begin(), graph_.outputs().end());
    const std::vector<NodeId> nodes = graph_.node_ids();
    for (const ValueId id : graph_.initializers()) widen_initializer(id);
    const std::vector<ValueId> inputs(graph_.inputs().begin(), graph_.inputs().end());
    for (const ValueId id : inputs) widen_result(id);
    for (const NodeId id : nodes) widen_node(id);
    give_back(outputs);
    graph_.sort();
    return true;
  }

 private:
  DType written(ValueId id) const { return written_[static_cast<size_t>(id.index)]; }

  ValueId add_cast(ValueId id, DType to) {
    const std::string name =
        graph_.unique_name(graph_.value(id).name + ".as_" + std::string(dtype_name(to)));
    const TensorType type{to, graph_.value(id).type.shape};
    const NodeId node =
        graph_.add_node(name, "Cast", {id}, {{"to", ops::dtype_code(to)}}, {&name, 1}, {&type, 1});
    const ValueId made = graph_.node(node).outputs[0];
    written_.resize(graph_.value_limit(), to);
    written_[static_cast<size_t>(made.index)] = written(id);
    return made;
  }

  void widen_initializer(ValueId id) {
    Value& value = graph_.mutable_value(id);
    if (!is_half(value.type.dtype)) return;
    if (value.constant == nullptr) return widen_result(id);
    value.constant = std::make_shared<const Tensor>(cast(*value.constant, DType::kF32));
    value.type.dtype = DType::kF32;
  }

  // Whoever reads it reads it as f32.
  void widen_result(ValueId id) {
    if (!id.valid() || !is_half(graph_.value(id).type.dtype)) return;
    const ValueId wide = add_cast(id, DType::kF32);
    const NodeId node = graph_.value(wide).producer;
    graph_.replace_uses(id, wide);
    graph_.set_node_input(node, 0, id);
  }

  // A file that rounds to 16 bits and goes back at once means the rounding.
  bool rounds(const NodeView& node) const {
    if (node.op() != "Cast" || is_half(written(node.input(0))) || !is_half(written(node.output(0))))
      return false;
    const std::vector<NodeId>& users = graph_.value(node.output(0)).consumers;
    return !users.empty() && !graph_.is_output(node.output(0)) &&
           std::all_of(users.begin(), users.end(),
                       [&](NodeId user) { return graph_.node(user).op == "Cast"; });
  }

  // Bodies have types of their own, and bits are those of the type.
  static bool keeps_types(const std::string& op) {
    return ops::is_control_flow(op) || op == "BitCast";
  }

  bool touches_halves(const Node& node) const {
    const auto half = [&](ValueId id) { return id.valid() && is_half(written(id)); };
    return std::any_of(node.inputs.begin(), node.inputs.end(), half) ||
           std::any_of(node.outputs.begin(), node.outputs.end(), half);
  }

  void widen_node(NodeId id) {
    if (!touches_halves(graph_.node(id)) || rounds({graph_, id})) return;
    if (keeps_types(graph_.node(id).op)) {
      narrow_inputs(id);
    } else {
      if (graph_.node(id).op == "Cast" && is_half(written(graph_.node(id).outputs[0]))) {
        graph_.mutable_node(id).attributes["to"] = ops::dtype_code(DType::kF32);
      }
      ops::infer_node(graph_, id);
    }
    // Where an attribute says which type it makes.
    const std::vector<ValueId> outputs = graph_.node(id).outputs;
    for (const ValueId output : outputs) widen_result(output);
  }

  void narrow_inputs(NodeId id) {
    for (size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
      const ValueId input = graph_.node(id).inputs[i];
      if (!input.valid() || graph_.value(input).type.dtype == written(input)) continue;
      graph_.set_node_input(id, i, add_cast(input, written(input)));
    }
  }

  void give_back(const std::vector<ValueId>& before) {
    std::vector<ValueId> outputs(graph_.outputs().begin(), graph_.outputs().end());
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (graph_.value(outputs[i]).type.dtype == written(before[i])) continue;
      outputs[i] = add_cast(outputs[i], written(before[i]));
    }
    graph_.set_outputs(std::move(outputs));
  }

  Graph& graph_;
  std::vector<DType> written_;  // by value: the type in the file
};

}  // namespace

bool widen_halves(Graph& graph, const PassContext& /*context*/) {
  return HalfConversion(graph).run();
}

}  // namespace trainyard::passes
