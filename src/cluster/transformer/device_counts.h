// How many devices to take for a number of tokens: by a deadline, by a budget, or the cheapest.
#pragma once

#include <string>
#include <vector>

#include "cluster/transformer/goodput.h"
#include "cluster/transformer/plan.h"

namespace trainyard::transformer {

// A training to its end.
struct TrainingGoal {
  double tokens = 0;          // to train with
  double usd_per_hour = 0;    // of one device; 0: not known
  double deadline_hours = 0;  // 0: none
  double budget_usd = 0;      // 0: none
  Reliability reliability;
  double storage_bytes_per_s = 2e9;  // that a host of 8 devices writes at (assumed)
};

struct TotalTime {
  double steps = 0;
  double hours = 0;  // with what failures and checkpoints cost
  double usd = 0;
  Goodput goodput;
};
TotalTime total_time(const Transformer& model, const Mapping& mapping, double steps,
                     double step_seconds, const TrainingGoal& goal);

struct DeviceCountPlan {
  PlannedMapping best;
  TotalTime time;
  bool good = true;  // within the deadline and the budget
};
// So many devices cannot do it.
struct RefusedCount {
  int64_t workers = 0;
  std::string reason;
};
struct DeviceCounts {
  std::vector<DeviceCountPlan> best_first;
  std::vector<RefusedCount> unfit;
};
// The best mapping of each power of two of devices up to `wanted`'s, and of these. Those come first
// that keep to deadline and budget: with a deadline alone or neither the cheapest, otherwise the
// fastest. Throws Error if none fits the device.
DeviceCounts plan_device_counts(const Transformer& model, const Machine& machine,
                                const Factors& factors, const Mapping& wanted,
                                const TrainingGoal& goal);

}  // namespace trainyard::transformer
