#include "train/training_step.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "engine/compiler.h"
#include "engine/device/torch_device.h"
#include "engine/first_bad.h"
#include "engine/profile.h"
#include "ops/passes/pass.h"

namespace trainyard::train {
namespace {

// Where the executable, whose inputs are those of the graph, takes the value; none for kNoValue.
std::optional<size_t> input_index(const Graph& graph, ValueId id) {
  if (!id.valid()) return std::nullopt;
  const std::span<const ValueId> inputs = graph.inputs();
  const auto found = std::find(inputs.begin(), inputs.end(), id);
  TY_CHECK(found != inputs.end(), "'{}' is no input", graph.value(id).name);
  return static_cast<size_t>(found - inputs.begin());
}

// The first step of the phase or of a later one; the number of steps if there is none.
size_t phase_begin(const runtime::Executable& executable, Phase phase) {
  const std::vector<runtime::StepInfo>& steps = executable.steps();
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const runtime::StepInfo& step) {
    return step.phase >= static_cast<uint8_t>(phase);
  });
  return static_cast<size_t>(found - steps.begin());
}

template <typename Named>
std::string known_names(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& one : all) names.push_back(one.name);
  return join(names, ", ");
}

}  // namespace

TrainingGraph make_step_graph(const Graph& model, const StepOptions& options) {
  TrainingOptions training = options.training;
  training.scale_loss = device::computes_in_f16(options.device.get());
  return options.update ? make_training_graph(model, training)
                        : make_gradient_graph(model, training);
}

runtime::Executable compile_step(const TrainingGraph& made, const StepOptions& options) {
  runtime::CompileOptions compile;
  compile.threads = options.threads;
  compile.seed = options.seed;
  compile.reference_only = options.reference_only;
  compile.device = options.device;
  compile.precision = options.precision;
  compile.passes = &passes::training_passes();
  compile.states = made.states;
  compile.phases = made.phases;
  return runtime::compile(made.graph, compile);
}

TrainingStep::TrainingStep(const Graph& model, const StepOptions& options)
    : TrainingStep(model, make_step_graph(model, options), options) {}

// States keep the order of TrainingGraph: parameters, running statistics, then what the optimizer
// keeps.
TrainingStep::TrainingStep(const Graph& model, const TrainingGraph& made,
                           const StepOptions& options)
    : accumulate_(options.training.accumulate),
      update_(options.update),
      buckets_(made.buckets),
      gradient_names_(made.gradients),
      metrics_(made.metrics),
      executable_(compile_step(made, options)),
      context_(executable_, options.exchange),
      num_parameters_(static_cast<size_t>(made.num_parameters)),
      num_model_states_(static_cast<size_t>(made.num_parameters + made.num_statistics)),
      rate_(input_index(made.graph, made.inputs.rate)),
      update_count_(input_index(made.graph, made.inputs.updates)),
      step_(input_index(made.graph, made.inputs.step)),
      continues_(input_index(made.graph, made.inputs.continues)),
      average_(input_index(made.graph, made.inputs.average)),
      scale_(input_index(made.graph, made.inputs.loss_scale)),
      backward_begin_(phase_begin(executable_, Phase::kBackward)),
      check_begin_(phase_begin(executable_, Phase::kCheck)),
      update_begin_(phase_begin(executable_, Phase::kUpdate)) {
  if (scale_) loss_scale_.emplace();
  for (const ObjectivePort& port : made.objective_inputs) {
    objective_inputs_.push_back({port.name, *input_index(made.graph, port.value)});
  }
  for (size_t i = 0; i < num_model_states_; ++i) {
    const ValueId id = model.find_value(states()[i].name);
    TY_CHECK(id.valid(), "'{}' is not in the network", states()[i].name);
    context_.set_state(i, *initializer_data(model.value(id), options.seed));
  }
}

std::vector<std::string> TrainingStep::objective_inputs() const {
  std::vector<std::string> names;
  for (const NamedInput& input : objective_inputs_) names.push_back(input.name);
  return names;
}

Tensor& TrainingStep::input(std::string_view name) {
  for (const NamedInput& input : objective_inputs_) {
    if (input.name == name) return context_.input(input.index);
  }
  throw_error("the objective has no input '{}'; it has {}", name, known_names(objective_inputs_));
}

size_t TrainingStep::metric_index(std::string_view name) const {
  for (size_t i = 0; i < metrics_.size(); ++i) {
    if (metrics_[i].name == name) return i;
  }
  throw_error("the objective has no metric '{}'; it has {}", name, known_names(metrics_));
}

// Outputs are the loss, the metrics, then (in a step without update) the gradients.
const Tensor& TrainingStep::metric_tensor(std::string_view name) const {
  return context_.output(1 + metric_index(name));
}

double TrainingStep::metric(std::string_view name) const {
  const Tensor& value = metric_tensor(name);
  TY_REQUIRE(value.shape().num_elements() == 1, "metric '{}' is {}, not one number", name,
             value.type().to_string());
  return value.dtype() == DType::kI64 ? static_cast<double>(value.values<int64_t>()[0])
                                      : static_cast<double>(value.values<float>()[0]);
}

const Tensor& TrainingStep::gradient(size_t parameter) const {
  TY_CHECK(!update_ && parameter < num_parameters_, "gradient {} of a step that has {}", parameter,
           update_ ? 0 : num_parameters_);
  return context_.output(1 + metrics_.size() + parameter);
}

double TrainingStep::gradient_norm() const {
  const size_t norms = context_.num_outputs() - 1 - metrics_.size() - (loss_scale_ ? 1 : 0);
  TY_CHECK(update_ && norms == 1, "no norm was asked for");
  return static_cast<double>(context_.output(1 + metrics_.size()).values<float>()[0]);
}

size_t TrainingStep::average_of(size_t index) const {
  TY_CHECK(average_ && index < num_model_states_, "no average of state {}", index);
  return states().size() - num_model_states_ + index;
}

void TrainingStep::set_scalar(std::optional<size_t> input, double value) {
  if (!input) return;
  Tensor& tensor = context_.input(*input);
  if (tensor.dtype() == DType::kI64) {
    tensor.values<int64_t>()[0] = static_cast<int64_t>(value);
  } else {
    tensor.values<float>()[0] = static_cast<float>(value);
  }
}

double TrainingStep::run_phase(size_t begin, size_t end, runtime::Profile* profile) {
  const Stopwatch phase;
  context_.run_steps(begin, end, profile);
  return phase.seconds();
}

void TrainingStep::run(double learning_rate, runtime::Profile* profile) {
  set_scalar(rate_, learning_rate);
  // Counted from 1, as the bias corrections of Adam want it.
  set_scalar(average_, average_share_);
  set_scalar(update_count_, static_cast<double>(updates_ + 1));
  set_scalar(step_, static_cast<double>(steps_));
  // 0 in the first of `accumulate` runs: it starts the sum of gradients anew.
  set_scalar(continues_, steps_ % accumulate_ == 0 ? 0 : 1);
  if (loss_scale_) set_scalar(scale_, loss_scale_->factor);
  seconds_ = {.forward = run_phase(0, backward_begin_, profile),
              .backward = run_phase(backward_begin_, check_begin_, profile)};
  require_finite_loss();
  ++steps_;
  if (steps_ % accumulate_ != 0) return;
  if (loss_scale_) {
    seconds_.update = run_phase(check_begin_, update_begin_, profile);
    const Tensor& norm = context_.output(context_.num_outputs() - 1);
    const bool finite = std::isfinite(norm.values<float>()[0]);
    loss_scale_->follow(finite);
    if (!finite) return;
  }
  seconds_.update += run_phase(update_begin_, executable_.steps().size(), profile);
  ++updates_;
}

// Before the update, so that the weights that led here are still there.
void TrainingStep::require_finite_loss() {
  if (std::isfinite(loss())) return;
  // Weights first: they tell a run that diverged before from a step that overflowed.
  for (size_t i = 0; i < num_model_states_; ++i) {
    const Tensor values = state(i);
    const auto finite = [](float value) { return std::isfinite(value); };
    const std::span<const float> all = values.values<float>();
    if (std::all_of(all.begin(), all.end(), finite)) continue;
    throw_failure(
        "step {}: the loss is {}; '{}' is not finite. Try a lower learning rate, a "
        "warm-up or gradient clipping",
        steps_, loss(), states()[i].name);
  }
  const double bad = loss();
  const std::string node = runtime::find_first_bad(context_, 0, backward_begin_);
  throw_failure(
      "step {}: the loss is {}; the first result that is not finite is that of node "
      "'{}'. Try a lower learning rate, a warm-up or gradient clipping",
      steps_, bad, node);
}

void TrainingStep::set_loss_scale(const LossScale& scale) {
  if (loss_scale_) loss_scale_ = scale;
}

void TrainingStep::set_progress(int64_t steps, int64_t updates) {
  steps_ = steps;
  updates_ = updates;
}

void TrainingStep::copy_weights_to(Graph& model, bool averages) const {
  for (size_t i = 0; i < num_model_states_; ++i) {
    const ValueId id = model.find_value(states()[i].name);
    TY_CHECK(id.valid(), "'{}' is not in the network", states()[i].name);
    model.mutable_value(id).constant =
        std::make_shared<const Tensor>(state(averages ? average_of(i) : i));
  }
}

void TrainingStep::copy_weights_from(const TrainingStep& other) {
  TY_CHECK(num_model_states_ == other.num_model_states_, "{} weights for {}",
           other.num_model_states_, num_model_states_);
  for (size_t i = 0; i < num_model_states_; ++i) set_state(i, other.state(i));
}

}  // namespace trainyard::train
