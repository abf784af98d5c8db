// Numbers that change as training goes on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace trainyard::rl
