#include "runtime/body.h"

#include "base/error.h"
#include "ops/inference.h"

namespace trainyard::runtime {
namespace {

bool fits(const std::vector<Shape>& shapes, std::span<const Tensor* const> inputs) {
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i] != inputs[i]->shape()) return false;
  }
  return true;
}

// The graph with the shapes that came, and everything that follows from them.
Graph specialized(const Graph& graph, std::span<const Tensor* const> inputs) {
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

ExecutionContext& Body::context_for(std::span<const Tensor* const> inputs) {
  TY_CHECK(inputs.size() == graph_.inputs().size(), "{} inputs for {}", inputs.size(),
           graph_.inputs().size());
  for (auto plan = plans_.begin(); plan != plans_.end(); ++plan) {
    if (!fits(plan->shapes, inputs)) continue;
    plans_.splice(plans_.begin(), plans_, plan);
    return *plans_.front().context;
  }
  Plan plan;
  for (const Tensor* input : inputs) plan.shapes.push_back(input->shape());
  plan.context = std::make_unique<ExecutionContext>(compile(specialized(graph_, inputs), options_));
  plans_.push_front(std::move(plan));
  if (plans_.size() > kMostPlans) plans_.pop_back();
  return *plans_.front().context;
}

std::vector<Tensor> Body::run(std::span<const Tensor* const> inputs) {
  ExecutionContext& context = context_for(inputs);
  for (size_t i = 0; i < inputs.size(); ++i) context.set_input(i, *inputs[i]);
  context.run();
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < context.num_outputs(); ++i) outputs.push_back(context.output(i).clone());
  return outputs;
}

}  // namespace trainyard::runtime
