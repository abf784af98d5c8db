// A network in training: the compiled step and the state it works on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/executable.h"
#include "train/training_graph.h"

namespace trainyard::train {

struct StepOptions {
  TrainingOptions training = {};
  int threads = 0;  // 0: all cores
  uint64_t seed = 1;
  bool reference_only = false;
  // Several workers. The exchange outlives the step; null: there is one.
  kernels::Exchange* exchange = nullptr;
  int64_t rank = 0;
  int64_t workers = 1;
};

struct PhaseSeconds {
  double forward = 0;
  double backward = 0;
  double update = 0;
};

// Not thread-safe.
class TrainingStep {
 public:
  // Starts from the network's own weights: its data, or drawn from the seed by their rules.
  TrainingStep(const Graph& model, const StepOptions& options);

  // To be filled before run(); they keep their contents.
  Tensor& images() { return context_.input(0); }
  Tensor& labels() { return context_.input(labels_); }

  // One batch through forward and backward, and an update after every `accumulate` of them.
  // `profile` may be null. Throws Failure if the loss is not finite, naming the first bad tensor.
  void run(double learning_rate, runtime::Profile* profile = nullptr);

  // Of the last run.
  double loss() const { return static_cast<double>(context_.output(0).values<float>()[0]); }
  int64_t correct() const { return context_.output(1).values<int64_t>()[0]; }
  const PhaseSeconds& seconds() const { return seconds_; }

  // How often run() and how often the update was done; to be set when going on from a checkpoint.
  int64_t steps() const { return steps_; }
  int64_t updates() const { return updates_; }
  void set_progress(int64_t steps, int64_t updates);

  // Parameters, statistics and optimizer state by name, row-major.
  const std::vector<runtime::Port>& states() const { return executable_.states(); }
  Tensor state(size_t index) const { return context_.state(index); }
  void set_state(size_t index, const Tensor& value) { context_.set_state(index, value); }
  // The states before this one are parameters and statistics: what the network needs for use.
  size_t num_model_states() const { return num_model_states_; }
  size_t num_parameters() const { return num_parameters_; }

  // Gives the initializers of `model` (the graph this was made from) their present numbers.
  void copy_weights_to(Graph& model) const;

  const runtime::Executable& executable() const { return executable_; }
  // The parameters whose gradients each bucket holds; their bytes are the executable's.
  const std::vector<std::vector<std::string>>& buckets() const { return buckets_; }

 private:
  TrainingStep(const Graph& model, const TrainingGraph& made, const StepOptions& options);
  void set_scalar(size_t input, double value);
  void require_finite_loss();
  double run_phase(size_t begin, size_t end, runtime::Profile* profile);

  int64_t accumulate_;
  int64_t rank_;
  int64_t workers_;
  std::vector<std::vector<std::string>> buckets_;
  runtime::Executable executable_;
  runtime::ExecutionContext context_;
  size_t num_parameters_;
  size_t num_model_states_;
  size_t labels_, rate_, update_count_;
  size_t step_ = SIZE_MAX;       // input; only with dropout
  size_t continues_ = SIZE_MAX;  // input; only when gradients are added up
  size_t backward_begin_ = 0;    // steps of the executable
  size_t update_begin_ = 0;
  int64_t steps_ = 0;
  int64_t updates_ = 0;
  PhaseSeconds seconds_;
};

}  // namespace trainyard::train
