// Runs If, Loop and Scan: each body is compiled once for the shapes it is given, and keeps its
// memory from round to round.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/compiler.h"

namespace trainyard::runtime {

class ControlFlow {
 public:
  // The node must outlive this. `options` are those of the graph around it.
  ControlFlow(const Graph& graph, NodeId node, const CompileOptions& options);
  ~ControlFlow();
  ControlFlow(const ControlFlow&) = delete;
  ControlFlow& operator=(const ControlFlow&) = delete;

  // Absent inputs are null. Throws Error for a loop that does not end within max_iterations, or
  // that gathers more than memory should hold.
  std::vector<Tensor> run(std::span<const Tensor* const> inputs);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trainyard::runtime
