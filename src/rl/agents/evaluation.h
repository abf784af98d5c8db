// How good a policy is: whole episodes, and what their returns say.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rl/agents/actor.h"

namespace trainyard::rl {

struct EvaluationOptions {
  int64_t episodes = 100;
  double epsilon = 0;
  uint64_t seed = 1000;
  int64_t longest = 100000;   // steps of an episode, where the environment has no limit
  int64_t continuing = 1000;  // and where nothing ever ends one
};

struct Evaluation {
  std::vector<double> returns;
  double mean = 0;
  double deviation = 0;  // of the returns
  double median = 0;
  double low = 0;  // 95 % interval of the mean
  double high = 0;
  double mean_steps = 0;
};

Evaluation summarize(std::vector<double> returns);

// One episode in each of as many copies, which `make_policy` gets the number of: none is left out
// for being long.
using MakePolicy = std::function<Policy(int64_t copies)>;
Evaluation evaluate_policy(const std::string& environment, const MakePolicy& make_policy,
                           const EvaluationOptions& options);

}  // namespace trainyard::rl
