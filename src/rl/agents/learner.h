// The learning half of an agent: a network in training, its target network, and updates from a
// replay memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rl/agents/config.h"
#include "rl/agents/q_network.h"
#include "rl/replay/replay_memory.h"
#include "train/predictor.h"
#include "train/training_step.h"

namespace trainyard::rl {

// Of one update.
struct UpdateReport {
  double loss = 0;
  double mean_value = 0;  // of Q(s, a) over the batch
  double mean_error = 0;  // of |td|
  double mean_age = 0;    // transitions that came since those of the batch
};

// Not thread-safe.
class Learner {
 public:
  // `update` false: parameters stay as they are, for gradients that go elsewhere. Of several
  // learners, `rank` says whose turn it is among the devices that the settings name.
  Learner(const RlConfig& config, const EnvSpec& spec, bool update = true, int64_t rank = 0);

  // Samples, learns, tells the memory the new errors and moves the target network when it is time.
  // Throws Failure naming the update if a value is not finite.
  UpdateReport update(ReplayMemory& memory, double learning_rate, double beta, EventStream& chance);

  // A network of another batch, with the weights of now, on the processors; for those who act or
  // evaluate.
  std::unique_ptr<train::Predictor> predictor(int64_t batch) const;

  int64_t updates() const { return updates_; }
  void set_updates(int64_t updates);
  train::TrainingStep& step() { return step_; }
  const train::TrainingStep& step() const { return step_; }
  // Null without a target network.
  train::Predictor* target() { return target_.get(); }
  const Graph& network() const { return network_; }
  const RlConfig& config() const { return config_; }
  // That of the last update.
  const ReplayBatch& batch() const { return batch_; }
  const EnvSpec& spec() const { return spec_; }
  // Gives the target network the weights of now, if it is time or `always`.
  void move_target(bool always);

 private:
  void compute_targets(ReplayBatch& batch);

  RlConfig config_;
  EnvSpec spec_;
  std::shared_ptr<device::Device> device_;  // null: the processors
  Graph network_;
  train::TrainingStep step_;
  std::unique_ptr<train::Predictor> target_;
  std::unique_ptr<train::Predictor> online_;  // for actions of targets, and for all without target
  ReplayBatch batch_;
  std::vector<float> errors_;
  int64_t updates_ = 0;
};

// On the processors.
train::StepOptions step_options(const RlConfig& config, bool update);

}  // namespace trainyard::rl
