#include "engine/body.h"

#include "base/error.h"
#include "ops/inference.h"

namespace trainyard::runtime {
namespace {

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

}  // namespace

PlanCache plans_of(Graph graph, const CompileOptions& options, int64_t most_bytes) {
  auto shared = std::make_shared<const Graph>(std::move(graph));
  return PlanCache(
      [shared](std::span<const Tensor* const> inputs) { return specialized(*shared, inputs); },
      options, PlanCache::kMostPlans, most_bytes);
}

}  // namespace trainyard::runtime
