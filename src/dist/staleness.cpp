#include "dist/staleness.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace trainyard::dist {
namespace {

void check_times(std::span<const double> times, int64_t learner) {
  TY_REQUIRE(!times.empty(), "learner {} has no gradients; expected at least one time", learner);
  double previous = 0;
  for (const double time : times) {
    TY_REQUIRE(std::isfinite(time) && time > 0,
               "learner {}: time {} is not a positive number; weights are read first at 0", learner,
               time);
    TY_REQUIRE(time > previous,
               "learner {}: time {} comes after {}; a learner's times must increase", learner, time,
               previous);
    previous = time;
  }
}

}  // namespace

std::vector<GradientEvent> gradient_staleness(std::span<const std::vector<double>> learners) {
  std::vector<GradientEvent> events;
  for (size_t l = 0; l < learners.size(); ++l) {
    const auto learner = static_cast<int64_t>(l) + 1;
    check_times(learners[l], learner);
    double read_time = 0;
    int64_t index = 0;
    for (const double time : learners[l]) {
      events.push_back({learner, ++index, read_time, time, 0});
      read_time = time;
    }
  }
  // Stable: learners that write at the same time keep their order.
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  std::vector<int64_t> version_read(learners.size(), 0);
  int64_t version = 0;
  for (GradientEvent& event : events) {
    int64_t& read = version_read[static_cast<size_t>(event.learner - 1)];
    event.staleness = version - read;
    read = ++version;
  }
  return events;
}

}  // namespace trainyard::dist
