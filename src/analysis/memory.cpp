#include "analysis/memory.h"

#include "analysis/parameters.h"
#include "analysis/storage.h"
#include "analysis/training_memory.h"

namespace trainyard::analysis {
namespace {

std::string node_name(const Graph& graph, int64_t position) {
  if (position < 0) return "";
  return graph.node(graph.node_ids()[static_cast<size_t>(position)]).name;
}

void add_weights(const Graph& graph, MemoryUse& use) {
  std::vector<bool> is_parameter(graph.value_limit(), false);
  for (const Parameter& parameter : find_parameters(graph)) {
    is_parameter[static_cast<size_t>(parameter.value.index)] = true;
    const int64_t bytes = graph.value(parameter.value).type.num_bytes();
    (parameter.trainable() ? use.trainable : use.statistics) += bytes;
  }
  for (const ValueId id : graph.initializers()) {
    if (!is_parameter[static_cast<size_t>(id.index)]) {
      use.constants += graph.value(id).type.num_bytes();
    }
  }
  use.gradients = use.trainable;
}

ActivationPeak inference_peak(const Graph& graph, Reuse reuse) {
  const Peak peak = peak_of(plan_storage(graph, reuse));
  return {.bytes = peak.bytes, .node = node_name(graph, peak.node)};
}

}  // namespace

std::string_view optimizer_name(Optimizer optimizer) {
  static constexpr std::array<std::string_view, 3> kNames = {"sgd", "momentum", "adam"};
  return kNames[static_cast<size_t>(optimizer)];
}

int64_t MemoryUse::optimizer_state(Optimizer optimizer) const {
  static constexpr std::array<int64_t, 3> kCopies = {0, 1, 2};
  return kCopies[static_cast<size_t>(optimizer)] * trainable;
}

MemoryUse analyze_memory(const Graph& graph) {
  MemoryUse use;
  add_weights(graph, use);
  for (const ValueId id : graph.inputs()) {
    const TensorType& type = graph.value(id).type;
    if (type.shape.is_static()) use.inputs += type.num_bytes();
  }
  use.inference = inference_peak(graph, Reuse::kViews);
  use.inference_in_place = inference_peak(graph, Reuse::kInPlace);
  const auto peak = [&](const TrainingMemory& training) -> ActivationPeak {
    return {.bytes = training.peak.bytes,
            .node = node_name(graph, training.peak.node),
            .backward = training.peak_in_backward};
  };
  const TrainingMemory training = simulate_training(graph, MemoryOf::kAnyTrainer);
  use.saved_for_backward = training.saved;
  use.training = peak(training);
  use.training_here = peak(simulate_training(graph, MemoryOf::kThisEngine));
  return use;
}

}  // namespace trainyard::analysis
