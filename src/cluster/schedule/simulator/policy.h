// What a scheduling policy is asked and what it answers.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/schedule/simulator/cluster.h"
#include "cluster/schedule/simulator/job.h"

namespace trainyard::schedule {

constexpr double kNever = std::numeric_limits<double>::infinity();

// A job that has arrived and not ended, as a policy sees it: estimates may be wrong.
struct ActiveJob {
  const Job* job = nullptr;
  size_t index = 0;        // of the job in the workload, ascending with its arrival
  double attained = 0;     // seconds that it held its allocations
  double speed_error = 0;  // shares by which estimates are off
  double work_error = 0;
  bool started = false;
  const Allocation* now = nullptr;  // what it holds, never null
  // The job's, here so that going over all jobs reads memory in order.
  Resources least = job != nullptr ? job->least() : Resources{};

  double remaining() const { return job->progress->remaining() * (1 + work_error); }
  double speed(int32_t servers, int32_t workers, int32_t type = 0) const {
    return job->progress->speed(servers, workers, type) * (1 + speed_error);
  }
  // Of its work, as estimated, 0..1.
  double remaining_share() const { return 1 - job->progress->done(); }
};

struct ClusterState {
  double now = 0;
  const Cluster* cluster = nullptr;
  std::vector<ActiveJob> jobs;  // by arrival, then by index
  // What is free beside all that the jobs hold, where that is kept from decision to decision.
  const FreeNodes* free = nullptr;

  FreeNodes free_nodes() const;
};

// What one of state.jobs holds from now on.
struct Change {
  size_t position = 0;
  Allocation allocation;
};

// May keep state from one decision to the next; used from one thread.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;
  // Each job at most once; who is not named keeps what it holds. All has to fit the cluster.
  virtual std::vector<Change> decide(const ClusterState& state) = 0;
  // Whether decisions depend on how far this job is. If not, `attained` and the job's progress may
  // be those of its last change, which saves looking at every job at every decision.
  virtual bool watches(const Job&) const { return true; }
  // When it wants to decide again even if nothing arrives or ends, for clusters without intervals.
  virtual double wake_up() const { return kNever; }
};

// Those of `allocations`, one for each of state.jobs, that differ from what the job holds.
std::vector<Change> changes_to(const ClusterState& state, std::vector<Allocation> allocations);

}  // namespace trainyard::schedule
