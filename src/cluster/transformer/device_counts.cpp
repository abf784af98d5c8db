#include "cluster/transformer/device_counts.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace trainyard::transformer {
namespace {

constexpr double kHostDevices = 8;

std::vector<int64_t> worker_counts(int64_t most) {
  std::vector<int64_t> counts;
  for (int64_t count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

}  // namespace

TotalTime total_time(const Transformer& model, const Mapping& mapping, double steps,
                     double step_seconds, const TrainingGoal& goal) {
  Reliability reliability = goal.reliability;
  const double workers = static_cast<double>(mapping.workers);
  if (reliability.save_seconds == 0) {
    const double hosts = std::max(workers / kHostDevices, 1.0);
    reliability.save_seconds =
        checkpoint_bytes(model, mapping) / (hosts * goal.storage_bytes_per_s);
  }
  TotalTime time;
  time.steps = steps;
  time.goodput = best_goodput(reliability, mapping.workers);
  const double progress = steps * step_seconds;
  // What ends before a checkpoint would be due seldom needs one.
  if (progress < time.goodput.interval_seconds) time.goodput.share = 1;
  time.hours = progress / time.goodput.share / 3600;
  time.usd = time.hours * workers * goal.usd_per_hour;
  return time;
}

DeviceCounts plan_device_counts(const Transformer& model, const Machine& machine,
                                const Factors& factors, const Mapping& wanted,
                                const TrainingGoal& goal) {
  DeviceCounts out;
  std::vector<DeviceCountPlan>& fleets = out.best_first;
  for (const int64_t workers : worker_counts(wanted.workers)) {
    Mapping some = wanted;
    some.workers = workers;
    try {
      DeviceCountPlan fleet;
      fleet.best = find_plan(model, machine, factors, some, 1).best.front();
      const double tokens = static_cast<double>(some.batch * some.sequence);
      fleet.time = total_time(model, fleet.best.mapping, std::ceil(goal.tokens / tokens),
                              fleet.best.time.total(), goal);
      fleet.good = (goal.deadline_hours == 0 || fleet.time.hours <= goal.deadline_hours) &&
                   (goal.budget_usd == 0 || fleet.time.usd <= goal.budget_usd);
      fleets.push_back(fleet);
    } catch (const Error& error) {
      out.unfit.push_back({workers, error.what()});
    }
  }
  TY_REQUIRE(!fleets.empty(), "{}", out.unfit.back().reason);
  const bool fastest = goal.budget_usd > 0 || goal.usd_per_hour == 0;
  std::ranges::stable_sort(fleets, [fastest](const DeviceCountPlan& a, const DeviceCountPlan& b) {
    if (a.good != b.good) return a.good;
    return fastest ? a.time.hours < b.time.hours : a.time.usd < b.time.usd;
  });
  return out;
}

}  // namespace trainyard::transformer
