// A network in training: the compiled step and the state it works on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/executable.h"
#include "train/loss_scale.h"
#include "train/training_graph.h"

namespace trainyard::device {
class Device;
}

namespace trainyard::train {

struct StepOptions {
  TrainingOptions training = {};
  int threads = 0;  // 0: all cores
  uint64_t seed = 1;
  bool reference_only = false;
  std::shared_ptr<device::Device> device = {};  // of libtorch; null: the processors
  // Of products, forward and backward; parameters, sums and updates stay f32.
  kernels::Precision precision = kernels::Precision::kF32;
  // false: parameters stay as they are; somebody else updates them by gradient().
  bool update = true;
  // Several workers. The exchange outlives the step; null: there is one.
  kernels::Exchange* exchange = nullptr;
};

// With or without the update.
TrainingGraph make_step_graph(const Graph& model, const StepOptions& options);
// What every step is compiled by: the states of `made` stay in the context.
runtime::Executable compile_step(const TrainingGraph& made, const StepOptions& options);

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

  // To be filled before run(); they keep their contents. Those of the network are meant by their
  // order, those of the objective by the names that it gives them. Throws Error for a name that the
  // objective does not know.
  Tensor& input(size_t index) { return context_.input(index); }
  Tensor& input(std::string_view name);
  const std::vector<runtime::Port>& inputs() const { return executable_.inputs(); }
  std::vector<std::string> objective_inputs() const;

  // One batch through forward and backward, and an update after every `accumulate` of them.
  // `profile` may be null. Throws Failure if the loss is not finite, naming the first bad tensor.
  // Where the loss is scaled, an update whose gradients are not finite is left out, and the scale
  // halved.
  void run(double learning_rate, runtime::Profile* profile = nullptr);

  // Of the last run. Throws Error for a metric that the objective does not have.
  double loss() const { return static_cast<double>(context_.output(0).values<float>()[0]); }
  double metric(std::string_view name) const;
  // Of kEach: valid until the next run().
  const Tensor& metric_tensor(std::string_view name) const;
  const std::vector<TrainingGraph::MetricPort>& metrics() const { return metrics_; }
  const PhaseSeconds& seconds() const { return seconds_; }
  // Of the gradients of the last update, before they were clipped; where it was asked for.
  double gradient_norm() const;
  // Of a step without update: with regard to states()[parameter], mean of `accumulate` runs; valid
  // until the next run().
  const Tensor& gradient(size_t parameter) const;

  // How often run() and how often the update was done; to be set when resuming from a checkpoint.
  int64_t steps() const { return steps_; }
  int64_t updates() const { return updates_; }
  void set_progress(int64_t steps, int64_t updates);

  // On a device that computes in f16 the factor of the loss adapts to the gradients (LossScale);
  // elsewhere there is none. To be set when resuming, which does nothing where there is none.
  const std::optional<LossScale>& loss_scale() const { return loss_scale_; }
  void set_loss_scale(const LossScale& scale);

  // Sees what each node of the runs that follow computes; null: nobody does.
  void set_observer(runtime::StepObserver observer) { context_.set_observer(std::move(observer)); }
  // The name of the gradient of parameter i among those results.
  const std::vector<std::string>& gradient_names() const { return gradient_names_; }

  // Parameters, statistics and optimizer state by name, row-major.
  const std::vector<runtime::Port>& states() const { return executable_.states(); }
  Tensor state(size_t index) const { return context_.state(index); }
  void set_state(size_t index, const Tensor& value) { context_.set_state(index, value); }
  // The states before this one are parameters and statistics: what the network needs for use.
  size_t num_model_states() const { return num_model_states_; }
  size_t num_parameters() const { return num_parameters_; }

  // Where averages are kept: the share that the weights after the next update have in them.
  void set_average_share(double share) { average_share_ = share; }
  // The state that is the average of state `index`, a parameter or statistic.
  size_t average_of(size_t index) const;

  // Gives the initializers of `model` (the graph this was made from) their present numbers, or the
  // averages of them.
  void copy_weights_to(Graph& model, bool averages = false) const;
  // Takes the parameters and statistics of a step of the same network.
  void copy_weights_from(const TrainingStep& other);

  const runtime::Executable& executable() const { return executable_; }
  // The parameters whose gradients each bucket holds; their bytes are the executable's.
  const std::vector<std::vector<std::string>>& buckets() const { return buckets_; }

 private:
  TrainingStep(const Graph& model, const TrainingGraph& made, const StepOptions& options);
  size_t metric_index(std::string_view name) const;
  // Does nothing for an input that the graph does not have.
  void set_scalar(std::optional<size_t> input, double value);
  void require_finite_loss();
  double run_phase(size_t begin, size_t end, runtime::Profile* profile);

  int64_t accumulate_;
  bool update_;
  std::vector<std::vector<std::string>> buckets_;
  std::vector<std::string> gradient_names_;
  struct NamedInput {
    std::string name;
    size_t index;
  };
  std::vector<NamedInput> objective_inputs_;
  std::vector<TrainingGraph::MetricPort> metrics_;
  runtime::Executable executable_;
  runtime::ExecutionContext context_;
  size_t num_parameters_;
  size_t num_model_states_;
  // Those of StepInputs.
  std::optional<size_t> rate_, update_count_, step_, continues_, average_, scale_;
  double average_share_ = 0;
  size_t backward_begin_ = 0;  // steps of the executable
  size_t check_begin_ = 0;
  size_t update_begin_ = 0;
  std::optional<LossScale> loss_scale_;
  int64_t steps_ = 0;
  int64_t updates_ = 0;
  PhaseSeconds seconds_;
};

}  // namespace trainyard::train
