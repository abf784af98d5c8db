#include <algorithm>

#include "base/error.h"
#include "engine/body.h"

namespace trainyard::runtime {
namespace {

bool fits(const std::vector<Shape>& shapes, std::span<const Tensor* const> inputs) {
  if (shapes.size() != inputs.size()) return false;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i] != inputs[i]->shape()) return false;
  }
  return true;
}

// Sizes that only the run will tell count as nothing.
int64_t bytes_of_plan(const Executable& executable) {
  int64_t bytes = executable.arena_bytes();
  const auto add = [&](const auto& values) {
    for (const auto& value : values) {
      if (value.type.shape.is_static()) bytes += value.type.num_bytes();
    }
  };
  add(executable.inputs());
  add(executable.outputs());
  return bytes;
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
  Executable executable = compile(specialize_(inputs), options_);
  plan.bytes = bytes_of_plan(executable);
  TY_REQUIRE(plan.bytes <= most_bytes_, "it would take {} bytes, {} are allowed", plan.bytes,
             most_bytes_);
  make_room(plan.bytes);
  plan.context = std::make_unique<ExecutionContext>(std::move(executable));
  plans_.push_front(std::move(plan));
  return *plans_.front().context;
}

void PlanCache::make_room(int64_t bytes) {
  int64_t kept = 0;
  size_t count = 1;
  auto plan = plans_.begin();
  for (; plan != plans_.end(); ++plan, ++count) {
    const int64_t most = count < most_plans_ ? most_bytes_ : std::min(most_bytes_, small_bytes_);
    if (plan->bytes > most - bytes - kept) break;
    kept += plan->bytes;
  }
  plans_.erase(plan, plans_.end());
}

std::vector<Tensor> PlanCache::run(std::span<const Tensor* const> inputs) {
  std::vector<Tensor> outputs;
  for (const Tensor& output : run_in_place(inputs)) outputs.push_back(output.clone());
  return outputs;
}

std::vector<Tensor> PlanCache::run_in_place(std::span<const Tensor* const> inputs) {
  ExecutionContext& context = context_for(inputs);
  for (size_t i = 0; i < inputs.size(); ++i) context.lend_input(i, *inputs[i]);
  context.run();
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < context.num_outputs(); ++i) {
    const Tensor& output = context.output(i);
    outputs.push_back(output.reshaped(output.shape()));
  }
  return outputs;
}

}  // namespace trainyard::runtime
