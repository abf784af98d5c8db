#include "api/training/training.h"

#include <algorithm>

#include "base/error.h"
#include "dist/single.h"
#include "train/class_weights.h"
#include "train/run_training.h"
#include "train/training_set.h"
#include "train/training_step.h"

namespace trainyard::api {
namespace {

train::StepOptions options_of(const StepSettings& settings) {
  train::StepOptions options;
  options.training.objective = train::make_objective(settings.objective);
  options.training.optimizer.kind = settings.optimizer;
  options.training.optimizer.momentum = settings.momentum;
  options.training.optimizer.weight_decay = settings.weight_decay;
  options.threads = settings.threads;
  options.seed = settings.seed;
  return options;
}

std::vector<Port> ports_of_step(const std::vector<runtime::Port>& ports) {
  std::vector<Port> copies;
  for (const runtime::Port& port : ports) copies.push_back({port.name, port.type});
  return copies;
}

}  // namespace

struct TrainingStep::Impl {
  train::TrainingStep step;
};

TrainingStep::TrainingStep(const Model& model, const StepSettings& settings)
    : impl_(new Impl{train::TrainingStep(model.graph(), options_of(settings))}) {}
TrainingStep::~TrainingStep() = default;
TrainingStep::TrainingStep(TrainingStep&&) noexcept = default;
TrainingStep& TrainingStep::operator=(TrainingStep&&) noexcept = default;

std::vector<Port> TrainingStep::inputs() const {
  return ports_of_step(impl_->step.inputs());
}

Tensor& TrainingStep::input(std::string_view name) {
  train::TrainingStep& step = impl_->step;
  const std::vector<std::string> asked = step.objective_inputs();
  if (std::find(asked.begin(), asked.end(), name) != asked.end()) return step.input(name);
  // Those of the network are found by their place.
  const auto& ports = step.inputs();
  const auto port = std::find_if(ports.begin(), ports.end(),
                                 [&](const runtime::Port& one) { return one.name == name; });
  return port == ports.end() ? step.input(name)
                             : step.input(static_cast<size_t>(port - ports.begin()));
}

void TrainingStep::run(double learning_rate) {
  impl_->step.run(learning_rate);
}

double TrainingStep::loss() const {
  return impl_->step.loss();
}

double TrainingStep::metric(std::string_view name) const {
  return impl_->step.metric(name);
}

std::vector<std::string> TrainingStep::metric_names() const {
  std::vector<std::string> names;
  for (const auto& metric : impl_->step.metrics()) names.push_back(metric.name);
  return names;
}

std::vector<Port> TrainingStep::states() const {
  return ports_of_step(impl_->step.states());
}

Tensor TrainingStep::state(size_t index) const {
  TY_REQUIRE(index < impl_->step.states().size(), "state {} of {}", index,
             impl_->step.states().size());
  return impl_->step.state(index);
}

void TrainingStep::set_state(size_t index, const Tensor& value) {
  TY_REQUIRE(index < impl_->step.states().size(), "state {} of {}", index,
             impl_->step.states().size());
  impl_->step.set_state(index, value);
}

namespace {

train::TrainConfig config_of(std::string_view settings) {
  train::TrainConfig config;
  train::settings_of(config).read_yaml(settings, "settings");
  train::settle_for_data(config);
  train::check(config);
  TY_REQUIRE(config.workers == 1 && config.servers == 0,
             "settings: workers is {} and servers {}; several processes are started by the program "
             "'trainyard train'",
             config.workers, config.servers);
  train::resolve_paths(config);
  return config;
}

TrainingSummary summary_of(const train::TrainResult& result) {
  TrainingSummary summary{.steps = result.steps,
                          .epochs = static_cast<int64_t>(result.epochs.size()),
                          .best_epoch = result.best_epoch,
                          .interrupted = result.interrupted};
  if (result.epochs.empty()) return summary;
  const train::EpochReport& last = result.epochs.back();
  summary.train_loss = last.train_loss;
  for (const train::Score& score : last.test.scores) summary.test_scores[score.name] = score.value;
  return summary;
}

}  // namespace

TrainingSummary train(std::string_view settings, const std::filesystem::path& folder,
                      const TrainingHooks& hooks) {
  namespace fs = std::filesystem;
  train::TrainConfig config = config_of(settings);
  TY_REQUIRE(!fs::exists(folder) || fs::exists(folder / "config.yaml") || fs::is_empty(folder),
             "{} is neither empty nor the directory of a run", folder.string());
  const auto training = train::open_set(config, data::Split::kTrain);
  const auto test = train::open_set(config, data::Split::kTest);
  TY_REQUIRE(training->target_kind() != data::TargetKind::kBoxes,
             "data with boxes is trained by the program 'trainyard train'");
  train::settle_class_weights(config.class_weights, *training);
  const train::StartingNetwork start = train::starting_network(config, *training, /*rank=*/0);
  const train::Task task = train::task_for(config, *training);
  dist::SingleProcess alone;
  train::TrainingRun run({config, *training, *test, start.graph, task}, alone);
  const fs::path whole = fs::absolute(folder).lexically_normal();
  const runs::RunDirectory directory =
      train::begin_or_resume(whole.parent_path(), whole.filename().string(), config);
  train::TrainHooks inner;
  inner.should_stop = hooks.should_stop;
  if (hooks.on_step) {
    inner.on_step = [&](const train::StepReport& report) {
      hooks.on_step(report.step, report.step_loss);
    };
  }
  return summary_of(run.run(&directory, inner).training);
}

}  // namespace trainyard::api
