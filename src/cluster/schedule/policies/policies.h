// The scheduling policies by name.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cluster/schedule/simulator/policy.h"

namespace trainyard::schedule {

struct PolicyEntry {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Policy> (*make)();
};

std::span<const PolicyEntry> all_policies();
// Throws Error with the nearest names.
std::unique_ptr<Policy> make_policy(std::string_view name);

// Optimus (Peng et al., EuroSys 2018): a worker and a server for every job, then one task after
// another to the job whose remaining time falls most per unit of the task's dominant resource.
struct OptimusOptions {
  // kFewest: on the fewest nodes, evenly (the paper); kFreest: one node after another, the freest
  // first, for jobs without servers (Pollux' Optimus).
  enum class Placement : uint8_t { kFewest, kFreest };
  Placement placement = Placement::kFewest;
};
std::unique_ptr<Policy> make_optimus(const OptimusOptions& options);

// Policies that fill an empty cluster with bundles of a worker and a server, each on the node that
// is used least; the first that does not fit ends the round (DL2's simulator).
enum class BundleOrder : uint8_t {
  kFair,     // DRF: to the job with the smallest dominant share
  kArrival,  // FIFO: as much as it may have to one job after another
  kShortest  // SRTF: the smallest share of work left first
};
std::unique_ptr<Policy> make_bundles(BundleOrder order);
std::unique_ptr<Policy> make_tetris();
// Optimus as DL2's simulator has it: time saved is not divided by resources, and each task goes to
// the node that is used least.
std::unique_ptr<Policy> make_balanced_optimus();

// Policies of gangs: a job has all the workers that its owner asked for, or none.
struct GangOptions {
  enum class Order : uint8_t {
    kArrival,    // no preemption; the first that does not fit stops the rest
    kBackfill,   // no preemption; what fits runs
    kSmallest,   // fewest workers first; preempts
    kShortest,   // least time left first; preempts
    kLeastLeft,  // least time left times workers first; preempts
    kAttained,   // Tiresias: queues by time run
    kAttained2d  // Tiresias: queues by time run times workers
  };
  Order order = Order::kArrival;
  // Seconds (times workers for kAttained2d) after which a job leaves each queue for the next.
  std::vector<double> queue_limits = {3250, 7200};
  // Jobs that wait go behind those that run in their queue (the released simulator of Tiresias).
  bool waiting_last = true;
  // A gang has one node if it fits on one, else whole nodes; otherwise it takes what is free.
  bool consolidate = false;
};
std::unique_ptr<Policy> make_gang(const GangOptions& options, std::string_view name);

// Gavel (Narayanan et al., OSDI 2020) on devices of several types: shares of time by a linear
// program, handed out in rounds.
enum class GavelGoal : uint8_t { kFairness, kMakespan, kFinishTime };
std::unique_ptr<Policy> make_gavel(GavelGoal goal);

}  // namespace trainyard::schedule
