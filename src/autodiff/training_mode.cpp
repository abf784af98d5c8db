#include "autodiff/training_mode.h"

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

void train_batch_norm(Graph& graph, NodeId id, std::vector<StateUpdate>& updates) {
  const Node node = graph.node(id);
  Attributes attributes = node.attributes;
  attributes.erase("training_mode");
  const std::vector<ValueId> made =
      replace_node(graph, id, "BatchNormTraining", node.inputs, 5, std::move(attributes));
  updates.push_back({node.inputs[3], made[3]});
  updates.push_back({node.inputs[4], made[4]});
}

void train_dropout(Graph& graph, NodeId id, ValueId step) {
  const NodeView view(graph, id);
  constexpr float kDefaultRatio = 0.5F;
  const Tensor* given = view.input_constant(1);
  const float ratio =
      given != nullptr ? static_cast<float>(element_as_double(*given, 0)) : kDefaultRatio;
  const auto seed = static_cast<int64_t>(hash_text(view.name()) >> 1);
  replace_node(graph, id, "DropoutTraining", {view.input(0), step}, 1,
               {{"ratio", ratio}, {"seed", seed}});
}

}  // namespace

std::vector<StateUpdate> to_training_mode(Graph& graph, bool keep_statistics) {
  std::vector<StateUpdate> updates;
  ValueId step = kNoValue;
  for (const NodeId id : graph.node_ids()) {
    const std::string& op = graph.node(id).op;
    if (op == "BatchNormalization") {
      if (!keep_statistics) train_batch_norm(graph, id, updates);
    } else if (op == "Dropout") {
      if (!step.valid()) step = graph.add_input(graph.unique_name("step"), {DType::kI64, {}});
      train_dropout(graph, id, step);
    }
  }
  graph.sort();
  return updates;
}

}  // namespace trainyard::autodiff
