#include "engine/body.h"

#include <algorithm>

#include "base/error.h"
#include "ops/inference.h"

namespace trainyard::runtime {
namespace {

// A loop whose values grow has a plan for each size; they do not hold weights of their own.
constexpr int64_t kSmallPlans = int64_t{64} << 20;

// The graph with the shapes that came, and everything that follows from them.
Graph specialized(const Graph& graph, std::span<const Tensor* const> inputs) {
  TY_CHECK(inputs.size() == graph.inputs().size(), "{} inputs for {}", inputs.size(),
           graph.inputs().size());
  Graph copy = graph;
  bool changed = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Value& value = copy.mutable_value(copy.inputs()[i]);
    TY_REQUIRE(value.type.dtype == inputs[i]->dtype() &&
                   value.type.shape.rank() == inputs[i]->shape().rank(),
               "input '{}' is {}, expected {}", value.name, inputs[i]->type().to_string(),
               value.type.to_string());
    changed = changed || value.type.shape != inputs[i]->shape();
    value.type.shape = inputs[i]->shape();
  }
  if (!changed) return copy;
  for (const NodeId id : copy.node_ids()) ops::infer_node(copy, id);
  return copy;
}

// Which of the graph's inputs a value is, through nodes that hand it on; the count of inputs if
// none.
size_t input_behind(const Graph& graph, ValueId id) {
  while (graph.value(id).producer.valid()) {
    const Node& node = graph.node(graph.value(id).producer);
    if (node.op != "Identity") break;
    id = node.inputs[0];
  }
  const auto inputs = graph.inputs();
  return static_cast<size_t>(std::find(inputs.begin(), inputs.end(), id) - inputs.begin());
}

// The graph with what is known in place of its inputs.
Graph with_constants(Graph graph, std::span<const std::shared_ptr<const Tensor>> known) {
  const std::vector<ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (known[i] == nullptr) continue;
    const ValueId constant =
        graph.add_initializer(graph.unique_name(graph.value(inputs[i]).name + ".known"), known[i]);
    graph.replace_uses(inputs[i], constant);
    graph.erase_value(inputs[i]);
  }
  return graph;
}

}  // namespace

Body::Body(const Graph& graph, std::span<const std::shared_ptr<const Tensor>> known,
           const CompileOptions& options, int64_t most_bytes)
    : plans_(nullptr, options) {
  Graph own = graph;
  std::vector<ValueId> computed;
  for (const ValueId output : graph.outputs()) {
    const size_t input = input_behind(graph, output);
    const bool handed = input < graph.inputs().size() && known[input] == nullptr;
    handed_.push_back(handed ? input : kComputed);
    if (!handed) computed.push_back(output);
  }
  computes_ = !computed.empty();
  own.set_outputs(std::move(computed));
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (known[i] == nullptr) given_.push_back(i);
  }
  CompileOptions shared = options;
  shared.share_constants = true;
  plans_ = plans_of(with_constants(std::move(own), known), shared, most_bytes);
  plans_.keep_small(kSmallPlans);
}

std::vector<Tensor> Body::run_in_place(std::span<const Tensor* const> inputs) {
  std::vector<Tensor> made;
  if (computes_) {
    std::vector<const Tensor*> given;
    for (const size_t i : given_) given.push_back(inputs[i]);
    made = plans_.run_in_place(given);
  }
  std::vector<Tensor> results;
  size_t next = 0;
  for (const size_t input : handed_) {
    results.push_back(input == kComputed ? std::move(made[next++])
                                         : inputs[input]->reshaped(inputs[input]->shape()));
  }
  return results;
}

std::vector<Tensor> Body::run(std::span<const Tensor* const> inputs) {
  std::vector<Tensor> results = run_in_place(inputs);
  for (Tensor& result : results) result = result.clone();
  return results;
}

PlanCache plans_of(Graph graph, const CompileOptions& options, int64_t most_bytes) {
  auto shared = std::make_shared<const Graph>(std::move(graph));
  return PlanCache(
      [shared](std::span<const Tensor* const> inputs) { return specialized(*shared, inputs); },
      options, PlanCache::kMostPlans, most_bytes);
}

}  // namespace trainyard::runtime
