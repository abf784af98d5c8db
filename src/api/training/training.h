// Training: a step to drive by hand, or a whole run from its settings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/model.h"
#include "tensor/tensor.h"

namespace trainyard::api {

struct StepSettings {
  std::string objective = "cross-entropy";
  std::string optimizer = "sgd";
  double momentum = 0;
  double weight_decay = 0;
  int threads = 0;  // 0: all cores
  uint64_t seed = 1;
};

// A network in training: forward, backward and update in one compiled graph. Not thread-safe.
class TrainingStep {
 public:
  // Starts from the weights of the model, or from numbers drawn from the seed.
  TrainingStep(const Model& model, const StepSettings& settings);
  ~TrainingStep();
  TrainingStep(TrainingStep&&) noexcept;
  TrainingStep& operator=(TrainingStep&&) noexcept;

  // Those of the network, then those of the objective, such as the classes.
  std::vector<Port> inputs() const;
  // To be filled before run(); it keeps its contents. Throws Error for a name that neither the
  // network nor the objective has.
  Tensor& input(std::string_view name);
  // Throws Failure if the loss is not finite, naming the first bad tensor.
  void run(double learning_rate);

  // Of the last run. Throws Error for a metric that the objective does not have.
  double loss() const;
  double metric(std::string_view name) const;
  std::vector<std::string> metric_names() const;

  // Parameters, statistics and optimizer state, row-major.
  std::vector<Port> states() const;
  Tensor state(size_t index) const;
  void set_state(size_t index, const Tensor& value);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct TrainingHooks {
  // Steps are counted from 1 in each epoch.
  std::function<void(int64_t step, double loss)> on_step = {};
  // Asked after each step; true: save a checkpoint and stop.
  std::function<bool()> should_stop = {};
};

struct TrainingSummary {
  int64_t steps = 0;
  int64_t epochs = 0;     // of this process
  double train_loss = 0;  // of the last epoch
  // On the test set after the last epoch, by name: "top1", "loss" ….
  std::map<std::string, double> test_scores = {};
  int64_t best_epoch = 0;  // from 1; 0: none
  bool interrupted = false;
};

// Trains one worker as `trainyard train` does. `settings` is the text of a config.yaml ("model:
// lenet5", a line each); `folder` becomes the run's directory, or is one that is resumed. Throws
// Error for settings that do not fit together, before anything is written.
TrainingSummary train(std::string_view settings, const std::filesystem::path& folder,
                      const TrainingHooks& hooks = {});

}  // namespace trainyard::api
