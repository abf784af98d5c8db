// A simulation in figures.
#pragma once

#include "cluster/schedule/simulator/simulate.h"

namespace trainyard::schedule {

// Times in seconds.
struct Summary {
  double average = 0;  // completion time
  double median = 0;
  double p95 = 0;
  double p99 = 0;
  double makespan = 0;
  double queueing = 0;  // mean
  // Finish-time fairness: completion time over that with an equal part of the cluster alone.
  double worst_fairness = 0;
  double mean_fairness = 0;
  double utilization = 0;  // of the resource that is used most
  int64_t restarts = 0;
  int64_t preemptions = 0;
  double restart_share = 0;
  double decision = 0;  // mean
  double longest_decision = 0;
};

Summary summarize(const SimulationResult& result);
// The value that a share of `values` is not above (nearest rank).
double percentile(std::vector<double> values, double share);

}  // namespace trainyard::schedule
