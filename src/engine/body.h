// A graph that runs on whatever shapes come.
#pragma once

#include "engine/plan_cache.h"

namespace trainyard::runtime {

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
