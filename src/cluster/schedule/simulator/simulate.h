// A cluster over time: jobs arrive, a policy decides, jobs run, nodes fail.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cluster/schedule/simulator/cluster.h"
#include "cluster/schedule/simulator/policy.h"

namespace trainyard::schedule {

struct NodeFailure {
  int32_t node = 0;
  double at = 0;
  double until = 0;
};

struct SimulationOptions {
  // Decisions are made at its multiples; 0: whenever a job arrives or ends, or a node fails.
  double interval = 600;
  // Without progress after every change of a job's allocation.
  double restart_seconds = 0;
  // What a job loses when its node fails is at most the work since its last checkpoint.
  double checkpoint_seconds = 600;
  std::vector<NodeFailure> failures = {};
  // Estimates are off by up to these shares, in a direction of each job's own; less as it
  // progresses.
  double speed_error = 0;
  double work_error = 0;
  uint64_t seed = 1;
};

// What a job held for a while.
struct Span {
  double begin = 0;
  double end = 0;
  int32_t servers = 0;
  int32_t workers = 0;
};

struct JobResult {
  std::string id;
  std::string model;
  double arrival = 0;
  double start = -1;  // of its first allocation
  double end = -1;
  int64_t restarts = 0;
  int64_t preemptions = 0;  // an allocation became none
  double held_gpu_seconds = 0;
  double alone = 0;  // seconds that it would take with an equal share of the cluster; 0: not known
  std::vector<Span> spans;

  double completion_time() const { return end - arrival; }
  double queueing() const { return start - arrival; }
};

struct SimulationResult {
  std::string policy;
  std::vector<JobResult> jobs;
  int64_t decisions = 0;
  double decision_seconds = 0;  // all of them, measured
  double longest_decision = 0;
  double makespan = 0;         // first arrival to last end
  Resources utilization = {};  // mean share of each resource that was allocated, over the makespan
  double restart_share = 0;    // of held GPU (or CPU) time without progress
  int64_t failures = 0;
};

// Runs copies of `jobs` (sorted by arrival) to their ends. Throws Error naming a job that can never
// run because no arrangement of the cluster holds it.
SimulationResult simulate(const Cluster& cluster, std::vector<Job> jobs, Policy& policy,
                          const SimulationOptions& options);

}  // namespace trainyard::schedule
