// A network in use while it is trained: its weights are those of a training step whenever asked
// for, without compiling anew. For those who act, test or compare during training; a network whose
// weights no longer change runs faster by runtime::compile().
#pragma once

#include "engine/executable.h"
#include "train/training_step.h"

namespace trainyard::train {

// Not thread-safe.
class Predictor {
 public:
  // `model` has the same weights as the network of `step`; batch and outputs may differ. Takes the
  // step's present weights. threads = 0: all cores. On `device`, if there is one, of libtorch.
  // Throws Error if a weight of the step is not in the model.
  Predictor(const Graph& model, const TrainingStep& step, int threads = 0,
            std::shared_ptr<device::Device> device = {});

  void copy_weights_from(const TrainingStep& step);
  void copy_weights_from(const Predictor& other);
  // Moves every weight by this share of the way to the step's.
  void move_weights_to(const TrainingStep& step, double share);

  // The weights, in the order of the step's states.
  const std::vector<runtime::Port>& states() const { return executable_.states(); }
  Tensor state(size_t index) const { return context_.state(index); }
  void set_state(size_t index, const Tensor& value) { context_.set_state(index, value); }

  // To be filled before run(); keeps its contents.
  Tensor& input(size_t index) { return context_.input(index); }
  void run() { context_.run(); }
  // Valid until the next run().
  const Tensor& output(size_t index) const { return context_.output(index); }

 private:
  runtime::Executable executable_;
  runtime::ExecutionContext context_;
};

}  // namespace trainyard::train
