// A network to run with inputs of any shape it takes: what Python's Session and the C interface are
// made of.
#pragma once

#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/executable.h"
#include "models/network.h"

namespace trainyard::api {

// Not thread-safe.
class Session {
 public:
  // Compiles for the shapes of the request, or those of the file. Throws Error if they leave
  // dimensions open.
  Session(network::Request request, int threads);

  const std::vector<runtime::Port>& inputs() const { return executable_.inputs(); }
  const std::vector<runtime::Port>& outputs() const { return executable_.outputs(); }
  // Runs with a tensor for each input, in their order, which are not looked at again afterwards. A
  // plan is made for each combination of shapes and kept for the next run (the four last used).
  // Throws Error for a tensor that does not fit.
  void run(std::span<const Tensor> tensors);
  // Of the last run, until the next one.
  const Tensor& output(size_t index) const;
  // Of the last run: the network alone.
  double engine_seconds() const { return engine_seconds_; }

 private:
  struct Plan {
    std::vector<Shape> shapes;
    std::unique_ptr<runtime::ExecutionContext> context;
  };

  runtime::Executable compile_for(const std::vector<Shape>& shapes) const;
  runtime::ExecutionContext& context_for(const std::vector<Shape>& shapes);

  network::Request request_;
  int threads_;
  runtime::Executable executable_;
  std::list<Plan> plans_;  // the last used first
  double engine_seconds_ = 0;
};

}  // namespace trainyard::api
