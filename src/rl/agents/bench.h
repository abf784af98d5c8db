// How fast the parts of an agent are, on one core.
#pragma once

#include <cstdint>

#include "rl/agents/config.h"

namespace trainyard::rl {

struct BenchOptions {
  double seconds = 1;       // for each part
  int64_t act_copies = 32;  // of the environment that acting steps together
  int64_t replay_capacity = 1000000;
};

struct BenchResult {
  double env_steps_per_s = 0;         // random actions, no network
  double act_steps_per_s = 0;         // greedy actions and the environment, act_copies together
  double act_one_steps_per_s = 0;     // the same with one copy
  double updates_per_s = 0;           // sample, targets, forward, backward, optimizer
  double replay_samples_per_s = 0;    // of the settings' kind at replay_capacity, without frames
  double priority_samples_per_s = 0;  // proportional, at replay_capacity
  double end_to_end_steps_per_s = 0;  // training as the settings say, evaluations not counted
  int64_t batch = 0;
  double core_share = 0;  // processor time per second: below 1 others had the core too
};

// The settings are checked ones; what they say of actors is not looked at.
BenchResult bench_agent(const RlConfig& config, const BenchOptions& options);

}  // namespace trainyard::rl
