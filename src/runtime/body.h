// A graph that runs on whatever shapes come: one plan for each combination of them, the least
// recently used of which goes when there are too many.
#pragma once

#include <list>
#include <memory>
#include <span>
#include <vector>

#include "runtime/compiler.h"

namespace trainyard::runtime {

class Body {
 public:
  static constexpr size_t kMostPlans = 4;

  // Dimensions of the graph's inputs may be unknown.
  Body(Graph graph, const CompileOptions& options) : graph_(std::move(graph)), options_(options) {}

  // One tensor for each input, of its element type and rank. Throws Error as inference does.
  std::vector<Tensor> run(std::span<const Tensor* const> inputs);
  size_t num_plans() const { return plans_.size(); }

 private:
  struct Plan {
    std::vector<Shape> shapes;
    std::unique_ptr<ExecutionContext> context;
  };
  ExecutionContext& context_for(std::span<const Tensor* const> inputs);

  Graph graph_;
  CompileOptions options_;
  std::list<Plan> plans_;  // the last used first
};

}  // namespace trainyard::runtime
