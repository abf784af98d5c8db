// Plans of one network for the shapes that its inputs come in. The least recently used goes when
// there are too many.
#pragma once

#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "engine/compiler.h"

namespace trainyard::runtime {

// Not thread-safe; make one per thread. With CompileOptions::share_constants the plans of all
// caches keep equal constants once.
class PlanCache {
 public:
  static constexpr size_t kMostPlans = 4;
  static constexpr int64_t kAnyBytes = std::numeric_limits<int64_t>::max();

  // The network for inputs like these, every dimension of its own inputs known.
  using Specialize = std::function<Graph(std::span<const Tensor* const> inputs)>;

  // `most_bytes`: of all plans together, for inputs, outputs and what lies between.
  PlanCache(Specialize specialize, const CompileOptions& options, size_t most_plans = kMostPlans,
            int64_t most_bytes = kAnyBytes)
      : specialize_(std::move(specialize)),
        options_(options),
        most_plans_(most_plans),
        most_bytes_(most_bytes) {}

  // The plan for tensors of these shapes, made if there is none; its inputs are not set. Valid
  // until the next call. Throws Error as `specialize` and compile() do, and for a plan that takes
  // too many bytes by itself, before they are allocated; then keeps what it has.
  ExecutionContext& context_for(std::span<const Tensor* const> inputs);
  // Runs on the inputs where they lie, and returns copies of the outputs.
  std::vector<Tensor> run(std::span<const Tensor* const> inputs);
  // The same; the outputs lie where they were made, until the next call.
  std::vector<Tensor> run_in_place(std::span<const Tensor* const> inputs);
  size_t num_plans() const { return plans_.size(); }

 private:
  struct Plan {
    std::vector<Shape> shapes;
    std::unique_ptr<ExecutionContext> context;
    int64_t bytes = 0;
  };
  void make_room(int64_t bytes);

  Specialize specialize_;
  CompileOptions options_;
  size_t most_plans_;
  int64_t most_bytes_;
  std::list<Plan> plans_;  // the last used first
};

}  // namespace trainyard::runtime
