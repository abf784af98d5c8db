// A graph that runs on whatever shapes come.
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
  // Plans beyond the most stay as long as all together take no more than so many bytes.
  void keep_small(int64_t bytes) { small_bytes_ = bytes; }

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
  int64_t small_bytes_ = 0;
  std::list<Plan> plans_;  // the last used first
};

// Dimensions of the graph's inputs may be unknown. Inputs are of their element types and ranks; the
// plans throw Error as inference does, and for more than `most_bytes`.
PlanCache plans_of(Graph graph, const CompileOptions& options,
                   int64_t most_bytes = PlanCache::kAnyBytes);

// A body of control flow. What is known of its inputs before the run (weights around it, mostly) is
// part of its plans, and what it hands on unchanged is not copied.
class Body {
 public:
  // `known`: by input of the graph; null: it comes with each run.
  Body(const Graph& graph, std::span<const std::shared_ptr<const Tensor>> known,
       const CompileOptions& options, int64_t most_bytes);

  // Of all inputs of the graph. The results are copies.
  std::vector<Tensor> run(std::span<const Tensor* const> inputs);
  // The results lie where they were made, or are inputs, until the next call.
  std::vector<Tensor> run_in_place(std::span<const Tensor* const> inputs);

 private:
  static constexpr size_t kComputed = SIZE_MAX;

  std::vector<size_t> given_;   // inputs that come with a run
  std::vector<size_t> handed_;  // by output: which input it is, or kComputed
  bool computes_ = true;        // anything at all
  PlanCache plans_;
};

}  // namespace trainyard::runtime
