#include "cluster/schedule/summary.h"

#include <algorithm>
#include <cmath>

namespace trainyard::schedule {

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  return values[static_cast<size_t>(std::max(1.0, rank)) - 1];
}

Summary summarize(const SimulationResult& result) {
  Summary out;
  if (result.jobs.empty()) return out;
  std::vector<double> times;
  for (const JobResult& job : result.jobs) {
    times.push_back(job.completion_time());
    out.average += job.completion_time();
    out.queueing += job.queueing();
    const double fairness = job.alone > 0 ? job.completion_time() / job.alone : 0;
    out.worst_fairness = std::max(out.worst_fairness, fairness);
    out.mean_fairness += fairness;
    out.restarts += job.restarts;
    out.preemptions += job.preemptions;
  }
  const auto count = static_cast<double>(result.jobs.size());
  out.average /= count;
  out.queueing /= count;
  out.mean_fairness /= count;
  out.median = percentile(times, 0.5);
  out.p95 = percentile(times, 0.95);
  out.p99 = percentile(times, 0.99);
  out.makespan = result.makespan;
  out.utilization = *std::max_element(result.utilization.begin(), result.utilization.end());
  out.restart_share = result.restart_share;
  out.decision =
      result.decision_seconds / static_cast<double>(std::max<int64_t>(1, result.decisions));
  out.longest_decision = result.longest_decision;
  return out;
}

}  // namespace trainyard::schedule
