#include "ops/autodiff/training_mode.h"

#include <algorithm>
#include <string>

#include "base/random.h"
#include "ops/builder.h"
#include "ops/op_def.h"

namespace trainyard::autodiff {
namespace {

// Puts a new node in the place of `old`, whose outputs it takes over.
std::vector<ValueId> replace_node(Graph& graph, NodeId old, std::string_view op,
                                  std::vector<ValueId> inputs, size_t num_outputs,
                                  Attributes attributes) {
  ops::Builder builder(graph);
  const std::string name = graph.node(old).name;
  const ValueId y = graph.node(old).outputs[0];
  std::vector<ValueId> made = builder.add_multi(op, std::move(inputs), num_outputs,
                                                std::move(attributes), name + ".training");
  graph.replace_uses(y, made[0]);
  graph.erase_node(old);
  return made;
}

std::vector<ValueId> train_batch_norm(Graph& graph, NodeId id, bool fixed_statistics) {
  const Node node = graph.node(id);
  Attributes attributes = node.attributes;
  attributes.erase("training_mode");
  if (fixed_statistics) attributes["fixed_statistics"] = int64_t{1};
  return replace_node(graph, id, ops::op_of({graph, id}).in_training, node.inputs, 5,
                      std::move(attributes));
}

void train_dropout(Graph& graph, NodeId id, ValueId step) {
  const NodeView view(graph, id);
  constexpr float kDefaultRatio = 0.5F;
  const Tensor* given = view.input_constant(1);
  const float ratio =
      given != nullptr ? static_cast<float>(element_as_double(*given, 0)) : kDefaultRatio;
  const auto seed = static_cast<int64_t>(hash_text(view.name()) >> 1);
  replace_node(graph, id, ops::op_of(view).in_training, {view.input(0), step}, 1,
               {{"ratio", ratio}, {"seed", seed}});
}

// Dropout drops; what happens to a BatchNormalization is the caller's. Returns the input that
// Dropout takes.
template <typename ChangeNorm>
ValueId change_nodes(Graph& graph, ChangeNorm&& change_norm) {
  ValueId step = kNoValue;
  for (const NodeId id : graph.node_ids()) {
    const std::string& op = graph.node(id).op;
    if (op == "BatchNormalization") {
      change_norm(id);
    } else if (op == "Dropout") {
      if (!step.valid()) step = graph.add_input(graph.unique_name("step"), {DType::kI64, {}});
      train_dropout(graph, id, step);
    }
  }
  graph.sort();
  return step;
}

}  // namespace

TrainingMode to_training_mode(Graph& graph) {
  TrainingMode mode;
  mode.step = change_nodes(graph, [&](NodeId id) {
    const Node node = graph.node(id);
    const std::vector<ValueId> made = train_batch_norm(graph, id, false);
    mode.statistics.push_back({node.inputs[3], made[3]});
    mode.statistics.push_back({node.inputs[4], made[4]});
  });
  return mode;
}

TrainingMode to_training_mode_with_fixed_statistics(Graph& graph,
                                                    std::span<const ValueId> parameters) {
  const ValueId step = change_nodes(graph, [&](NodeId id) {
    const std::vector<ValueId>& inputs = graph.node(id).inputs;
    const bool trained = std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) {
      return std::find(parameters.begin(), parameters.end(), input) != parameters.end();
    });
    if (trained) train_batch_norm(graph, id, true);
  });
  return {.statistics = {}, .step = step};
}

}  // namespace trainyard::autodiff
