// How long one decision takes on a large cluster.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainyard::schedule {

struct DecisionMeasure {
  int64_t tasks = 0;       // servers and workers that were placed
  double seconds = 0;      // on the clock
  double cpu_seconds = 0;  // of the processor; the same on an idle machine
};

// `jobs` elastic jobs that fill a cluster of `nodes` nodes (20 CPUs each) with about 25 tasks per
// job, decided once from nothing. Measured.
DecisionMeasure measure_decision(std::string_view policy, int64_t jobs, int64_t nodes);

}  // namespace trainyard::schedule
