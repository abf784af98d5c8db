#include "runtime/plan_cache.h"

namespace trainyard::runtime {
namespace {

bool fits(const std::vector<Shape>& shapes, std::span<const Tensor* const> inputs) {
  if (shapes.size() != inputs.size()) return false;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i] != inputs[i]->shape()) return false;
  }
  return true;
}

}  // namespace

ExecutionContext& PlanCache::context_for(std::span<const Tensor* const> inputs) {
  for (auto plan = plans_.begin(); plan != plans_.end(); ++plan) {
    if (!fits(plan->shapes, inputs)) continue;
    plans_.splice(plans_.begin(), plans_, plan);
    return *plans_.front().context;
  }
  Plan plan;
  for (const Tensor* input : inputs) plan.shapes.push_back(input->shape());
  plan.context = std::make_unique<ExecutionContext>(compile(specialize_(inputs), options_));
  plans_.push_front(std::move(plan));
  if (plans_.size() > most_plans_) plans_.pop_back();
  return *plans_.front().context;
}

std::vector<Tensor> PlanCache::run(std::span<const Tensor* const> inputs) {
  ExecutionContext& context = context_for(inputs);
  for (size_t i = 0; i < inputs.size(); ++i) context.set_input(i, *inputs[i]);
  context.run();
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < context.num_outputs(); ++i) outputs.push_back(context.output(i).clone());
  return outputs;
}

}  // namespace trainyard::runtime
