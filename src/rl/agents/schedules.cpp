#include <algorithm>
#include <cmath>

#include "rl/agents/config.h"

namespace trainyard::rl {

const std::vector<std::string>& epsilon_schedules() {
  static const std::vector<std::string> kNames = {"linear", "exponential", "constant"};
  return kNames;
}

double EpsilonSchedule::at(int64_t step) const {
  const int64_t since = std::max<int64_t>(0, step - after);
  if (kind == "constant") return end;
  if (kind == "linear") return annealed(start, end, over, since);
  const double rate = std::log(100.0) / static_cast<double>(std::max<int64_t>(1, over));
  return end + (start - end) * std::exp(-rate * static_cast<double>(since));
}

double annealed(double start, double end, int64_t over, int64_t step) {
  if (step >= over) return end;
  return start + (end - start) * static_cast<double>(step) / static_cast<double>(over);
}

double actor_epsilon(int64_t actor, int64_t actors, double base, double spread) {
  const double share =
      actors > 1 ? static_cast<double>(actor) / static_cast<double>(actors - 1) : 0;
  return std::pow(base, 1 + spread * share);
}

}  // namespace trainyard::rl
