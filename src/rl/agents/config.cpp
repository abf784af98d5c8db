#include "rl/agents/config.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "base/within.h"

namespace trainyard::rl {
namespace {

// See docs/limits.md.
constexpr int64_t kMostSteps = int64_t{1} << 40U;
constexpr int64_t kMostCopies = 4096;
constexpr int64_t kLargestBatch = 65536;
constexpr int64_t kMostRewards = 10'000;
constexpr int64_t kMostTransitions = 1'000'000'000;
constexpr double kMostReplayMb = 1 << 20;
constexpr int64_t kMostRanks = 1024;

// Decides the course of learning: see course_hash.
void add_learning(Settings& settings, RlConfig& c) {
  settings.add("env", &c.env, "an environment of 'trainyard rl list', ale:ROM or exec:COMMAND");
  settings.add("agent", &c.agent,
               "q-learning, sarsa, or a preset of settings: dqn, dqn-2013, "
               "dqn-2015, double, dueling, per, rainbow-lite, gorila, apex");
  settings.add("seed", &c.seed, "of weights, exploration, replay and environment");
  settings.add("copies", &c.copies, "environments that an actor steps together");
  settings.add("model", &c.model, "auto, a name of 'trainyard models', or an .onnx file");
  settings.add("hidden", &c.hidden, "units of the hidden layers of auto, as 256,256");
  settings.add("dueling", &c.dueling, "value and advantages apart (of auto)");
  settings.add("double", &c.double_q, "the online network chooses the action of a target");
  settings.add("optimizer", &c.optimizer, "adam, rmsprop, adagrad, sgd, adamw or lars");
  settings.add("learning_rate", &c.learning_rate, "of the optimizer");
  settings.add("final_rate", &c.final_rate,
               "share of the learning rate that is left at the last step; it falls evenly");
  settings.add("batch", &c.batch, "transitions of an update");
  settings.add("gamma", &c.gamma, "discount of a step");
  settings.add("n_step", &c.n_step, "rewards in a target before it bootstraps");
  settings.add("loss", &c.loss, "huber or mse");
  settings.add("clip_norm", &c.clip_norm, "largest norm of the gradients; 0: any");
  settings.add("clip_rewards", &c.clip_rewards, "learn from the signs of rewards");
  settings.add("replay", &c.replay, "uniform, proportional or rank");
  settings.add("capacity", &c.capacity, "transitions that the replay memory holds");
  settings.add("replay_mb", &c.replay_mb, "its size in MiB instead; 0: by capacity");
  settings.add("alpha", &c.alpha, "exponent of priorities");
  settings.add("beta", &c.beta, "exponent of importance weights at the beginning");
  settings.add("anneal_beta", &c.anneal_beta, "beta rises evenly to 1 at the last step");
  settings.add("start", &c.start, "steps before the first update");
  settings.add("train_every", &c.train_every, "steps between rounds of updates");
  settings.add("updates", &c.updates, "updates of a round");
  settings.add("target_every", &c.target_every,
               "updates (not steps) between changes of the target network; 0: there is none");
  settings.add("tau", &c.tau, "share of the way the target network goes; 1: a copy");
  settings.add("exploration", &c.exploration, "how epsilon falls: linear, exponential, constant");
  settings.add("epsilon", &c.epsilon, "share of random actions at the beginning");
  settings.add("final_epsilon", &c.final_epsilon, "and at the end");
  settings.add("exploration_steps", &c.exploration_steps, "steps until then");
  settings.add("step_size", &c.step_size, "of tables");
  settings.add("step_size_decay", &c.step_size_decay,
               "of tables: a pair's step size is divided by its visits to this power");
  settings.add("actors", &c.actors, "actors beside the learner; 0: the learner acts itself");
  settings.add("learners", &c.learners, "gorila: learners, each with its own replay and actor");
  settings.add("servers", &c.servers, "gorila: parameter servers");
  settings.add("send_every", &c.send_every, "transitions that an actor sends together");
  settings.add("pull_every", &c.pull_every, "steps between an actor's pulls of parameters");
  settings.add("replay_ratio", &c.replay_ratio,
               "with actors: samples learned from per transition, held by both sides");
}

void add_running(Settings& settings, RlConfig& c) {
  settings.add("steps", &c.steps, "steps of the environment");
  settings.add("eval_every", &c.eval_every, "steps between evaluations; 0: one at the end");
  settings.add("eval_episodes", &c.eval_episodes, "episodes of an evaluation");
  settings.add("eval_epsilon", &c.eval_epsilon, "share of random actions in evaluations");
  settings.add("log_every", &c.log_every, "steps between lines of metrics");
  settings.add("checkpoint_every", &c.checkpoint_every,
               "steps between checkpoints; 0: one at the end");
  settings.add("threads", &c.threads, "of the learner; small networks are fastest with 1");
}

void require_share(double value, const char* name) {
  require_within(name, value, 0.0, 1.0);
}

void require_positive(double value, const char* name) {
  constexpr double kLargest = 1e6;
  TY_REQUIRE(value > 0 && value <= kLargest, "{} is {}, expected above 0, at most {}", name, value,
             kLargest);
}

void check_counts(const RlConfig& c) {
  const auto within = require_within<int64_t>;
  within("seed", c.seed, 0, INT64_MAX);
  within("copies", c.copies, 1, kMostCopies);
  within("batch", c.batch, 1, kLargestBatch);
  within("n_step", c.n_step, 1, kMostRewards);
  within("capacity", c.capacity, 1, kMostTransitions);
  within("actors", c.actors, 0, kMostRanks);
  within("learners", c.learners, 1, kMostRanks);
  within("servers", c.servers, 1, kMostRanks);
  within("threads", c.threads, 0, kMostRanks);
  within("steps", c.steps, 1, kMostSteps);
  within("start", c.start, 0, kMostSteps);
  within("train_every", c.train_every, 1, kMostSteps);
  within("updates", c.updates, 0, kMostSteps);
  within("target_every", c.target_every, 0, kMostSteps);
  within("exploration_steps", c.exploration_steps, 0, kMostSteps);
  within("send_every", c.send_every, 1, kMostTransitions);
  within("pull_every", c.pull_every, 1, kMostSteps);
  within("eval_every", c.eval_every, 0, kMostSteps);
  within("eval_episodes", c.eval_episodes, 1, kMostSteps);
  within("log_every", c.log_every, 1, kMostSteps);
  within("checkpoint_every", c.checkpoint_every, 0, kMostSteps);
}

}  // namespace

double RlConfig::share_of_steps(int64_t done) const {
  return static_cast<double>(std::min(done, steps)) / static_cast<double>(steps);
}

double RlConfig::learning_rate_at(int64_t done) const {
  return learning_rate * (1 - (1 - final_rate) * share_of_steps(done));
}

double RlConfig::beta_at(int64_t done) const {
  return anneal_beta ? beta + (1 - beta) * share_of_steps(done) : beta;
}

train::OptimizerOptions RlConfig::optimizer_options() const {
  train::OptimizerOptions options;
  options.kind = optimizer;
  options.clip_norm = clip_norm;
  // Without momentum, unlike in training on data sets.
  if (optimizer == "sgd") options.momentum = 0;
  return options;
}

int64_t RlConfig::ranks() const {
  if (agent == "gorila") return learners + servers;
  return actors > 0 && !is_tabular() ? actors + 1 : 1;
}

Settings settings_of(RlConfig& config) {
  Settings settings;
  add_learning(settings, config);
  add_running(settings, config);
  return settings;
}

void check(const RlConfig& c) {
  check_counts(c);
  require_share(c.gamma, "gamma");
  require_share(c.epsilon, "epsilon");
  require_share(c.final_epsilon, "final_epsilon");
  require_share(c.eval_epsilon, "eval_epsilon");
  require_share(c.final_rate, "final_rate");
  require_share(c.beta, "beta");
  require_share(c.step_size_decay, "step_size_decay");
  TY_REQUIRE(c.tau > 0 && c.tau <= 1, "tau is {}, expected above 0 and up to 1", c.tau);
  require_positive(c.learning_rate, "learning_rate");
  require_positive(c.replay_ratio, "replay_ratio");
  require_positive(c.step_size, "step_size");
  TY_REQUIRE(c.clip_norm >= 0, "clip_norm is {}, expected 0 or more", c.clip_norm);
  require_within("replay_mb", c.replay_mb, 0.0, kMostReplayMb);
  TY_REQUIRE(c.replay_mb > 0 || c.capacity >= c.batch,
             "the replay memory holds {} transitions, less than a batch of {}", c.capacity,
             c.batch);
  TY_REQUIRE(c.loss == "huber" || c.loss == "mse", "loss '{}': expected huber or mse", c.loss);
  const std::vector<std::string>& optimizers = train::optimizer_names();
  TY_REQUIRE(std::find(optimizers.begin(), optimizers.end(), c.optimizer) != optimizers.end(),
             "optimizer '{}': expected {}", c.optimizer, join(optimizers, ", "));
  const std::vector<std::string>& kinds = epsilon_schedules();
  TY_REQUIRE(std::find(kinds.begin(), kinds.end(), c.exploration) != kinds.end(),
             "exploration '{}': expected {}", c.exploration, join(kinds, ", "));
  // Made for its errors only.
  make_sampler(c.sampler(), 1);
}

// Only what changes the course of learning: a run may be resumed with more steps, other evaluations
// or more threads.
std::string course_hash(const RlConfig& config) {
  RlConfig copy = config;
  Settings settings;
  add_learning(settings, copy);
  return settings.hash();
}

void require_same_course(const RlConfig& run, const RlConfig& wanted) {
  RlConfig own = run;
  RlConfig asked = wanted;
  Settings own_settings;
  Settings asked_settings;
  add_learning(own_settings, own);
  add_learning(asked_settings, asked);
  const std::string list = own_settings.differences(asked_settings);
  TY_REQUIRE(list.empty(), "a run is resumed with the settings it began with; these differ:{}",
             list);
}

}  // namespace trainyard::rl
