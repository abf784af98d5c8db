// What is wrong with a workload before it runs, and what a job would take alone.
#pragma once

#include <span>

#include "schedule/simulator/simulate.h"

namespace trainyard::schedule {

// Throws Error for a cluster without nodes, a job that fits no arrangement of the empty cluster, a
// job that makes no progress, failures of nodes that are not there, numbers below 0.
void check_simulation(const Cluster& cluster, std::span<const Job> jobs,
                      const SimulationOptions& options);

// Seconds for `work` with 1/`contention` of the cluster to itself (finish-time fairness, Themis,
// NSDI 2020); a gang with less than it needs takes turns.
double seconds_alone(const Job& job, double work, const Cluster& cluster, double contention);

}  // namespace trainyard::schedule
