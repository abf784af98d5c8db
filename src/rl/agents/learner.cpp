#include "rl/agents/learner.h"

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "engine/device/device_list.h"
#include "rl/agents/q_objective.h"

namespace trainyard::rl {
namespace {

train::StepOptions on_device(train::StepOptions options, std::shared_ptr<device::Device> device) {
  options.device = std::move(device);
  return options;
}

}  // namespace

train::StepOptions step_options(const RlConfig& config, bool update) {
  train::StepOptions options;
  options.training.optimizer = config.optimizer_options();
  options.training.objective = QLearningObjective{config.loss};
  options.threads = static_cast<int>(config.threads);
  options.seed = static_cast<uint64_t>(config.seed);
  options.update = update;
  return options;
}

Learner::Learner(const RlConfig& config, const EnvSpec& spec, bool update, int64_t rank)
    : config_(config),
      spec_(spec),
      device_(device::open_network_device(config.device, rank)),
      network_(make_q_network(config, spec, config.batch)),
      step_(network_, on_device(step_options(config, update), device_)) {
  const int threads = static_cast<int>(config.threads);
  if (config.target_every > 0) {
    target_ = std::make_unique<train::Predictor>(network_, step_, threads, device_);
  }
  // The online network judges next states where there is no target network, and chooses among them
  // in double Q-learning; else it would only cost memory.
  if (config.target_every == 0 || config.double_q) {
    online_ = std::make_unique<train::Predictor>(network_, step_, threads, device_);
  }
  batch_.slots.resize(static_cast<size_t>(config.batch));
  errors_.resize(batch_.slots.size());
}

std::unique_ptr<train::Predictor> Learner::predictor(int64_t batch) const {
  return std::make_unique<train::Predictor>(make_q_network(config_, spec_, batch), step_,
                                            static_cast<int>(config_.threads));
}

void Learner::set_updates(int64_t updates) {
  updates_ = updates;
  step_.set_progress(updates, updates);
}

// The next states lie in the input of `values` already: sampling wrote them there, without a copy.
void Learner::compute_targets(ReplayBatch& batch) {
  train::Predictor& values = target_ != nullptr ? *target_ : *online_;
  values.run();
  const Tensor* chooser = &values.output(0);
  if (target_ != nullptr && online_ != nullptr) {
    online_->copy_weights_from(step_);
    const std::span<const float> next = values.input(0).values<float>();
    std::copy(next.begin(), next.end(), online_->input(0).values<float>().begin());
    online_->run();
    chooser = &online_->output(0);
  }
  q_targets({.rewards = batch.rewards,
             .discounts = batch.discounts,
             .values = values.output(0).values<float>(),
             .chooser = chooser->values<float>()},
            step_.input(kTargetInput).values<float>());
}

UpdateReport Learner::update(ReplayMemory& memory, double learning_rate, double beta,
                             EventStream& chance) {
  // Before sampling, since sampling fills the input of this very network.
  if (target_ == nullptr) online_->copy_weights_from(step_);
  train::Predictor& values = target_ != nullptr ? *target_ : *online_;
  memory.sample(beta, chance, batch_, step_.input(0).values<float>(),
                values.input(0).values<float>());
  compute_targets(batch_);
  // One-hot rather than an index: the gradient of the values then needs no scatter.
  const std::span<float> taken = step_.input(kTakenInput).values<float>();
  std::fill(taken.begin(), taken.end(), 0.0F);
  const auto actions = static_cast<size_t>(spec_.actions);
  for (size_t i = 0; i < batch_.actions.size(); ++i) {
    taken[i * actions + static_cast<size_t>(batch_.actions[i])] = 1;
  }
  const std::span<float> weight = step_.input(kWeightInput).values<float>();
  std::copy(batch_.weights.begin(), batch_.weights.end(), weight.begin());
  step_.run(learning_rate);
  ++updates_;

  UpdateReport report{.loss = step_.loss(), .mean_value = step_.metric(kValueMetric)};
  const std::span<const float> td = step_.metric_tensor(kErrorMetric).values<float>();
  const auto count = static_cast<double>(td.size());
  for (size_t i = 0; i < td.size(); ++i) {
    errors_[i] = std::abs(td[i]);
    report.mean_error += static_cast<double>(errors_[i]) / count;
    report.mean_age += static_cast<double>(memory.end() - batch_.numbers[i]) / count;
  }
  // Priorities are those before the update; computing them anew would cost another forward pass,
  // and Schaul et al. do the same.
  memory.update(batch_, errors_);
  move_target(false);
  return report;
}

void Learner::move_target(bool always) {
  if (target_ == nullptr || (!always && updates_ % config_.target_every != 0)) return;
  if (always || config_.tau == 1) {
    target_->copy_weights_from(step_);
  } else {
    target_->move_weights_to(step_, config_.tau);
  }
}

}  // namespace trainyard::rl
