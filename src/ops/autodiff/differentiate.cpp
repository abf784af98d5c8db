#include "ops/autodiff/differentiate.h"

#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::autodiff {
namespace {

class Differentiator {
 public:
  Differentiator(Graph& graph, std::span<const ValueId> values)
      : graph_(graph),
        builder_(graph),
        nodes_(graph.node_ids()),
        depends_(graph.value_limit(), false) {
    for (const ValueId id : values) depends_[at(id)] = true;
    for (const NodeId id : nodes_) mark_dependants(id);
    gradients_.resize(graph.value_limit());
  }

  void run(ValueId loss) {
    TY_REQUIRE(graph_.value(loss).type.shape.num_elements() == 1,
               "the loss '{}' has shape {}, expected one element", graph_.value(loss).name,
               graph_.value(loss).type.shape.to_string());
    if (!depends_[at(loss)]) return;
    Tensor one(graph_.value(loss).type);
    fill_by_rule(init_constant(1.0), 0, "", one);
    gradients_[at(loss)] = {builder_.constant("grad.loss", std::move(one))};
    for (auto id = nodes_.rbegin(); id != nodes_.rend(); ++id) step_back(*id);
  }

  // The sum of what has flowed to a value. Asked once all of its consumers are done.
  ValueId gradient(ValueId id) {
    std::vector<ValueId>& parts = gradients_[at(id)];
    if (parts.empty()) return kNoValue;
    if (parts.size() > 1) {
      builder_.set_prefix("grad." + graph_.value(id).name + ".");
      const ValueId sum =
          parts.size() == 2 ? builder_.add("Add", parts) : builder_.add("Sum", parts);
      parts = {sum};
    }
    return parts[0];
  }

 private:
  static size_t at(ValueId id) { return static_cast<size_t>(id.index); }

  void mark_dependants(NodeId id) {
    const NodeView node(graph_, id);
    const ops::OpDef& op = ops::op_of(node);
    if (op.gradient == nullptr && op.no_gradient == ops::NoGradient::kNever) return;
    bool any = false;
    for (const ValueId input : node.node().inputs)
      any = any || (input.valid() && depends_[at(input)]);
    for (const ValueId output : node.node().outputs) {
      if (output.valid() && is_float(graph_.value(output).type.dtype)) depends_[at(output)] = any;
    }
  }

  void step_back(NodeId id) {
    const Node node = graph_.node(id);
    std::vector<ValueId> output_grads;
    bool flows = false;
    for (const ValueId output : node.outputs) {
      const bool reached = output.valid() && depends_[at(output)];
      output_grads.push_back(reached ? gradient(output) : kNoValue);
      flows = flows || output_grads.back().valid();
    }
    if (!flows) return;
    std::vector<bool> wanted;
    for (const ValueId input : node.inputs) wanted.push_back(input.valid() && depends_[at(input)]);

    const ops::OpDef& op = ops::op_of({graph_, id});
    TY_REQUIRE(op.gradient != nullptr, "node '{}' ({}) is not differentiable", node.name, node.op);
    builder_.set_prefix("grad." + node.name + ".");
    ops::GradContext context(builder_, id, output_grads, wanted);
    std::vector<ValueId> input_grads;
    try {
      input_grads = op.gradient(context);
    } catch (const Error& problem) {
      throw_error("gradient of node '{}' ({}): {}", node.name, node.op, problem.what());
    }
    for (size_t i = 0; i < input_grads.size() && i < wanted.size(); ++i) {
      if (wanted[i] && input_grads[i].valid())
        gradients_[at(node.inputs[i])].push_back(input_grads[i]);
    }
  }

  Graph& graph_;
  ops::Builder builder_;
  std::vector<NodeId> nodes_;  // of the forward graph
  std::vector<bool> depends_;  // by value: does it change with one of the asked-for values?
  std::vector<std::vector<ValueId>> gradients_;
};

}  // namespace

std::vector<ValueId> differentiate(Graph& graph, ValueId loss, std::span<const ValueId> values) {
  Differentiator differentiator(graph, values);
  differentiator.run(loss);
  std::vector<ValueId> gradients;
  for (const ValueId id : values) gradients.push_back(differentiator.gradient(id));
  return gradients;
}

}  // namespace trainyard::autodiff
