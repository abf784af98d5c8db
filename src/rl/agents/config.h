// The settings of a reinforcement-learning run: flags, a YAML file and config.yaml are one list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "rl/replay/replay_memory.h"
#include "train/training_graph.h"

namespace trainyard::rl {

struct EpsilonSchedule {
  std::string kind = "linear";  // linear, exponential or constant
  double start = 1;
  double end = 0.05;
  int64_t over = 10000;  // steps; of an exponential one, until it is within 1 % of the end
  int64_t after = 0;     // steps before it begins to fall

  double at(int64_t step) const;
};
const std::vector<std::string>& epsilon_schedules();

// From `start` in a straight line to `end` at step `over`, and `end` from there on.
double annealed(double start, double end, int64_t over, int64_t step);

// Ape-X: epsilon of actor i of n, base^(1 + 7 i / (n - 1)); the first explores most.
double actor_epsilon(int64_t actor, int64_t actors, double base = 0.4, double spread = 7);

struct RlConfig {
  std::string env = "CartPole-v1";
  std::string agent = "dqn";
  int64_t seed = 1;
  int64_t steps = 50000;  // of the environment, all copies and actors together
  int64_t copies = 1;     // of the environment, stepped together by each actor

  std::string model = "auto";  // auto, a name of the zoo, or a path to an .onnx file
  std::string hidden = "128,128";
  bool dueling = false;
  bool double_q = false;  // "double"
  std::string optimizer = "adam";
  double learning_rate = 1e-3;
  double final_rate = 1;  // share of the learning rate at the end, reached in a straight line
  int64_t batch = 64;
  double gamma = 0.99;
  int64_t n_step = 1;
  std::string loss = "huber";
  double clip_norm = 10;
  bool clip_rewards = false;

  std::string replay = "uniform";
  int64_t capacity = 100000;
  double replay_mb = 0;  // capacity in MiB instead
  double alpha = 0.6;
  double beta = 0.4;
  bool anneal_beta = true;
  int64_t start = 1000;        // steps before the first update
  int64_t train_every = 4;     // steps between rounds of updates
  int64_t updates = 1;         // of a round
  int64_t target_every = 500;  // updates; 0: no target network
  double tau = 1;              // share of the way that the target network goes each time

  std::string exploration = "linear";
  double epsilon = 1;
  double final_epsilon = 0.05;
  int64_t exploration_steps = 10000;

  // Tables.
  double step_size = 0.5;
  double step_size_decay = 0;  // a state's step size is step_size / visits^this
  double average_step = 1;     // differential: of the average reward, times step_size

  // Several actors.
  int64_t actors = 0;        // 0: the learner acts itself
  int64_t learners = 1;      // gorila: with a replay memory each
  int64_t servers = 1;       // gorila
  int64_t send_every = 50;   // transitions that an actor sends together
  int64_t pull_every = 400;  // steps between an actor's pulls of parameters
  double replay_ratio = 8;   // samples learned from per transition, held by both sides

  int64_t eval_every = 0;  // steps; 0: at the end only
  int64_t eval_episodes = 100;
  double eval_epsilon = 0;
  int64_t log_every = 1000;      // steps
  int64_t checkpoint_every = 0;  // steps; 0: at the end only
  std::string device = "cpu";    // of the learner: or one of libtorch
  int64_t threads = 1;

  SamplerOptions sampler() const { return {.kind = replay, .alpha = alpha}; }
  EpsilonSchedule epsilon_schedule() const {
    return {exploration, epsilon, final_epsilon, exploration_steps, 0};
  }
  // The learning rate, and the exponent of importance weights, after `done` steps.
  double learning_rate_at(int64_t done) const;
  double beta_at(int64_t done) const;
  train::OptimizerOptions optimizer_options() const;
  // Ranks of a job of several actors or learners; 1: there is one process.
  int64_t ranks() const;
  bool is_tabular() const {
    return agent == "q-learning" || agent == "sarsa" || agent == "differential";
  }

 private:
  double share_of_steps(int64_t done) const;
};

// Names and explains every field; the settings point into `config`, which must outlive them.
Settings settings_of(RlConfig& config);

// q-learning, sarsa, differential, and the presets: dqn, dqn-2013, dqn-2015, double, dueling, per,
// rainbow-lite, gorila, apex.
const std::vector<std::string>& agent_names();
std::string_view agent_summary(std::string_view agent);

// What suits an environment, changed as the preset `agent` says. Throws Error for unknown names.
RlConfig preset_config(const std::string& env, const std::string& agent);

// Throws Error for numbers that make no sense, naming the setting.
void check(const RlConfig& config);
// Of the settings that decide the numbers of a run: it cannot be resumed with other ones.
std::string course_hash(const RlConfig& config);
// Throws Error with those that differ.
void require_same_course(const RlConfig& run, const RlConfig& wanted);

}  // namespace trainyard::rl
