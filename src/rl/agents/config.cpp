#include "rl/agents/config.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

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
constexpr double kLargest = 1e6;  // of rates and ratios

// Decides the course of learning: see course_hash.
void add_learning(Settings& settings, RlConfig& c) {
  settings.group("Environment and agent");
  settings.add("env", &c.env, "an environment of 'trainyard rl list', ale:ROM or exec:COMMAND");
  settings.add("agent", &c.agent,
               "q-learning, sarsa, differential, or a preset of settings: dqn, dqn-2013, "
               "dqn-2015, double, dueling, per, rainbow-lite, gorila, apex");
  settings.add("seed", &c.seed, "random seed for weights, exploration, replay and environment",
               at_least(0));
  settings.add("copies", &c.copies, "environments per actor, stepped together",
               between(1, kMostCopies));
  settings.group("Network");
  settings.add("model", &c.model, "auto, a name of 'trainyard models', or an .onnx file");
  settings.add("hidden", &c.hidden, "hidden layer sizes of auto, as 256,256");
  settings.add("dueling", &c.dueling, "dueling network: separate value and advantages (auto)");
  settings.add("double", &c.double_q,
               "double Q-learning: the online network chooses the target's action");
  settings.group("Optimization");
  settings.add("optimizer", &c.optimizer, "adam, rmsprop, adagrad, sgd, adamw or lars");
  settings.add("learning_rate", &c.learning_rate, "learning rate", above(0, kLargest));
  settings.add("final_rate", &c.final_rate,
               "final learning rate as a share of the first; it falls linearly", between(0, 1));
  settings.add("batch", &c.batch, "batch size: transitions per update", between(1, kLargestBatch));
  settings.add("gamma", &c.gamma, "discount factor per step", between(0, 1));
  settings.add("n_step", &c.n_step, "n-step returns: rewards before bootstrapping",
               between(1, kMostRewards));
  settings.add("loss", &c.loss, "huber or mse");
  settings.add("clip_norm", &c.clip_norm, "clip gradients to this norm; 0: off", at_least(0));
  settings.add("clip_rewards", &c.clip_rewards, "clip rewards to their signs");
  settings.group("Replay");
  settings.add("replay", &c.replay, "uniform, proportional or rank");
  settings.add("capacity", &c.capacity, "capacity of the replay memory in transitions",
               between(1, kMostTransitions));
  settings.add("replay_mb", &c.replay_mb,
               "size of the replay memory in MiB, instead of capacity; 0: use capacity",
               between(0, kMostReplayMb));
  settings.add("alpha", &c.alpha, "exponent of priorities");
  settings.add("beta", &c.beta, "initial exponent of importance weights", between(0, 1));
  settings.add("anneal_beta", &c.anneal_beta, "let beta rise linearly to 1 at the last step");
  settings.add("start", &c.start, "steps before the first update", between(0, kMostSteps));
  settings.add("train_every", &c.train_every, "steps between rounds of updates",
               between(1, kMostSteps));
  settings.add("updates", &c.updates, "updates per round", between(0, kMostSteps));
  settings.add("target_every", &c.target_every,
               "updates (not steps) between copies to the target network; 0: no target network",
               between(0, kMostSteps));
  settings.add("tau", &c.tau, "soft update of the target network: share per update; 1: copy",
               above(0, 1));
  settings.group("Exploration");
  settings.add("exploration", &c.exploration, "epsilon schedule: linear, exponential or constant");
  settings.add("epsilon", &c.epsilon, "initial epsilon: share of random actions", between(0, 1));
  settings.add("final_epsilon", &c.final_epsilon, "final epsilon", between(0, 1));
  settings.add("exploration_steps", &c.exploration_steps, "steps until the final epsilon",
               between(0, kMostSteps));
  settings.add("step_size", &c.step_size, "step size of tabular methods", above(0, kLargest));
  settings.add("step_size_decay", &c.step_size_decay,
               "tabular: divide the step size of a pair by its visits to this power",
               between(0, 1));
  settings.add("average_step", &c.average_step,
               "differential: step size of the average reward, as a factor of step_size",
               above(0, kLargest));
  settings.group("Actors and learners");
  settings.add("actors", &c.actors, "actors in addition to the learner; 0: the learner acts itself",
               between(0, kMostRanks));
  settings.add("learners", &c.learners, "gorila: learners, each with its own replay and actor",
               between(1, kMostRanks));
  settings.add("servers", &c.servers, "gorila: parameter servers", between(1, kMostRanks));
  settings.add("send_every", &c.send_every, "transitions per message of an actor",
               between(1, kMostTransitions));
  settings.add("pull_every", &c.pull_every, "actor steps between parameter updates",
               between(1, kMostSteps));
  settings.add("replay_ratio", &c.replay_ratio,
               "with actors: samples learned per transition; learner and actors wait for each "
               "other to keep it",
               above(0, kLargest));
}

void add_running(Settings& settings, RlConfig& c) {
  settings.group("Running");
  settings.add("steps", &c.steps, "environment steps", between(1, kMostSteps));
  settings.add("eval_every", &c.eval_every, "steps between evaluations; 0: one at the end",
               between(0, kMostSteps));
  settings.add("eval_episodes", &c.eval_episodes, "episodes per evaluation",
               between(1, kMostSteps));
  settings.add("eval_epsilon", &c.eval_epsilon, "share of random actions in evaluations",
               between(0, 1));
  settings.add("log_every", &c.log_every, "steps between lines of metrics", between(1, kMostSteps));
  settings.add("checkpoint_every", &c.checkpoint_every,
               "steps between checkpoints; 0: one at the end", between(0, kMostSteps));
  settings.add(
      "device", &c.device,
      "where the learner computes: cpu (our own engine), or through libtorch torch:cpu, "
      "torch:cuda or torch:cuda:N; those who act do so on the processors. See docs/gpu.md");
  settings.add("threads", &c.threads, "threads of the learner; small networks are fastest with 1",
               between(0, kMostRanks));
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
  RlConfig copy = c;
  settings_of(copy).check();
  TY_REQUIRE(c.replay_mb > 0 || c.capacity >= c.batch,
             "the replay memory holds {} transitions, less than a batch of {}", c.capacity,
             c.batch);
  TY_REQUIRE(c.loss == "huber" || c.loss == "mse", "loss '{}': expected huber or mse", c.loss);
  TY_REQUIRE(c.device == RlConfig{}.device || !c.is_tabular(),
             "{} learns a table, which is computed on the processors alone, not on {}", c.agent,
             c.device);
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
  // Settings that came after the first runs were written, which go on as they began.
  constexpr std::string_view kLater[] = {"average_step"};
  RlConfig copy = config;
  RlConfig defaults;
  Settings settings;
  Settings usual;
  add_learning(settings, copy);
  add_learning(usual, defaults);
  return settings.hash(usual, kLater);
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
