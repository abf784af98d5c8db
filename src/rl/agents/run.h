// A run of an agent from its settings to its last evaluation.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/json.h"
#include "rl/agents/config.h"
#include "rl/agents/evaluation.h"
#include "runs/run_directory.h"

namespace trainyard::rl {

struct RunHooks {
  std::function<bool()> should_stop = [] { return false; };
  // A line for people, a few times a second at most.
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  // One that stays.
  std::function<void(const std::string&)> note = [](const std::string&) {};
};

struct EvaluationPoint {
  int64_t step = 0;
  double seconds = 0;  // of training, evaluations not counted
  Evaluation result = {};
};

// Of a memory that samples by priority: transitions that are `low` to 2 * low times as likely to
// be sampled as they would be uniformly.
struct PriorityBin {
  double low = 0;
  int64_t count = 0;
};

// Seconds of a learner that has actors.
struct LearnerTime {
  double updates = 0;
  double parcels = 0;  // transitions received and added to the memory
  double pulls = 0;    // parameters sent
  double waiting = 0;  // for messages
};

struct RunResult {
  int64_t steps = 0;
  int64_t episodes = 0;
  int64_t updates = 0;
  int64_t batch = 0;
  double seconds = 0;  // of training, evaluations not counted
  double recent_return = std::numeric_limits<double>::quiet_NaN();  // mean of the last 100 episodes
  int64_t target_changes = 0;
  double samples_per_transition = 0;
  bool stopped = false;
  std::vector<EvaluationPoint> evaluations = {};
  // The average reward of a step that was learned (agent differential).
  double average_reward = std::numeric_limits<double>::quiet_NaN();
  // Of tables: a value for each state and action, actions of a state side by side.
  std::vector<double> table_values = {};
  std::vector<PriorityBin> priorities = {};  // at the end, ascending; empty for uniform replay
  // Of runs with actors.
  double policy_lag = 0;          // mean of updates between an actor's weights and the learner's
  double priority_staleness = 0;  // mean of updates between a priority and its use
  std::vector<double> actor_rates = {};  // steps per second
  LearnerTime learner_time = {};
};

// The configuration is a checked one. `directory` may be null: nothing is written. A run that was
// resumed goes on from its last checkpoint. Throws Failure for numbers that are not finite.
RunResult train_dqn(const RlConfig& config, const runs::RunDirectory* directory,
                    const RunHooks& hooks);

// Tables need states that are cells: throws Error for other environments.
RunResult train_table(const RlConfig& config, const runs::RunDirectory* directory,
                      const RunHooks& hooks);

// The settings in a run directory. Throws Error if there are none.
RlConfig load_config(const std::filesystem::path& directory);

// The policy of a run directory: its network (or table) with the weights of its end. Throws Error
// if there are none.
struct SavedPolicy {
  RlConfig config;
  MakePolicy make;
};
SavedPolicy load_policy(const std::filesystem::path& directory);

// A trained network as it is used.
MakePolicy network_policy(const RlConfig& config, const Graph& trained);

}  // namespace trainyard::rl
