// A network to run with inputs of any shape it takes: what Python's Session and the C interface are
// made of.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "api/model.h"
#include "tensor/tensor.h"

namespace trainyard::api {

// Not thread-safe.
class Session {
 public:
  // Compiles for the shapes of the model; `threads` of 0: all cores. Throws Error if the model
  // leaves dimensions open.
  explicit Session(Model model, int threads = 0);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  // Runs with a tensor for each input, in their order, which are not looked at again afterwards. A
  // plan is made for each combination of shapes and kept for the next run (the four last used).
  // Throws Error for a tensor that does not fit.
  void run(std::span<const Tensor> tensors);
  // Of the last run, until the next one.
  const Tensor& output(size_t index) const;
  // Of the last run: the network alone.
  double engine_seconds() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trainyard::api
