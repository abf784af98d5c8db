// Plans of one network for the shapes that its inputs come in. The least recently used goes when
// there are too many.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "runtime/compiler.h"

namespace trainyard::runtime {

// Not thread-safe; make one per thread. With CompileOptions::share_constants the plans of all
// caches keep equal constants once.
class PlanCache {
 public:
  static constexpr size_t kMostPlans = 4;

  // The network for inputs like these, every dimension of its own inputs known.
  using Specialize = std::function<Graph(std::span<const Tensor* const> inputs)>;

  PlanCache(Specialize specialize, const CompileOptions& options, size_t most_plans = kMostPlans)
      : specialize_(std::move(specialize)), options_(options), most_plans_(most_plans) {}

  // The plan for tensors of these shapes, made if there is none; its inputs are not set. Valid
  // until the next call. Throws Error as `specialize` and compile() do, and then keeps what it has.
  ExecutionContext& context_for(std::span<const Tensor* const> inputs);
  // Sets the inputs, runs, and returns copies of the outputs.
  std::vector<Tensor> run(std::span<const Tensor* const> inputs);
  size_t num_plans() const { return plans_.size(); }

 private:
  struct Plan {
    std::vector<Shape> shapes;
    std::unique_ptr<ExecutionContext> context;
  };

  Specialize specialize_;
  CompileOptions options_;
  size_t most_plans_;
  std::list<Plan> plans_;  // the last used first
};

}  // namespace trainyard::runtime
