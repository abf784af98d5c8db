// What is wrong with a workload before it runs, and what a job would take alone.
#pragma once

#include <map>
#include <span>

#include "cluster/schedule/simulator/simulate.h"

namespace trainyard::schedule {

// Throws Error for a cluster without nodes, a job that fits no arrangement of the empty cluster, a
// job that makes no progress, failures of nodes that are not there, numbers below 0.
void check_simulation(const Cluster& cluster, std::span<const Job> jobs,
                      const SimulationOptions& options);

// How many tasks of a size the empty cluster holds; each size is counted once.
class SlotCounts {
 public:
  explicit SlotCounts(const Cluster& cluster) : cluster_(cluster) {}

  double of(const Resources& demand);
  void nodes_changed() { known_.clear(); }
  size_t types() const { return cluster_.types.size(); }

 private:
  const Cluster& cluster_;
  std::map<Resources, double> known_;
};

// Seconds for `work` with 1/`contention` of the cluster to itself (finish-time fairness, Themis,
// NSDI 2020); a gang with less than it needs takes turns.
double seconds_alone(const Job& job, double work, SlotCounts& slots, double contention);

}  // namespace trainyard::schedule
