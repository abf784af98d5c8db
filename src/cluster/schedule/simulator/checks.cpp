#include "cluster/schedule/simulator/checks.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace trainyard::schedule {
namespace {

void check_job(SlotCounts& slots, const Job& job) {
  const int32_t workers = job.rigid ? job.gang : 1;
  const double room = slots.of(job.worker);
  TY_REQUIRE(room >= workers,
             "job {} can never run: it needs {} workers and the whole cluster holds {:g} of them",
             job.id, workers, room);
  TY_REQUIRE(!job.has_servers() || slots.of(job.server) >= 1,
             "job {} can never run: no node holds one of its parameter servers", job.id);
  double best = 0;
  for (int32_t type = 0; type < static_cast<int32_t>(slots.types()); ++type) {
    best = std::max(best, job.progress->speed(job.has_servers() ? 1 : 0, workers, type));
  }
  TY_REQUIRE(best > 0 && std::isfinite(best), "job {} can never end: its speed is {:g}", job.id,
             best);
}

// See docs/limits.md.
constexpr double kLongestInterval = 365 * 86'400.0;  // seconds
constexpr double kLongestRestart = 86'400;

}  // namespace

void check_simulation(const Cluster& cluster, std::span<const Job> jobs,
                      const SimulationOptions& options) {
  TY_REQUIRE(!cluster.nodes.empty(), "the cluster has no nodes");
  // Shorter ones would make a simulated month take hours.
  TY_REQUIRE(
      options.interval == 0 || (options.interval >= 1 && options.interval <= kLongestInterval),
      "the interval is {:g} s, expected 0 (decisions at arrivals and ends), or 1 s to {:g} s",
      options.interval, kLongestInterval);
  TY_REQUIRE(options.restart_seconds >= 0 && options.restart_seconds <= kLongestRestart,
             "a restart takes {:g} s, expected 0 to {:g} s", options.restart_seconds,
             kLongestRestart);
  TY_REQUIRE(options.speed_error >= 0 && options.speed_error < 1 && options.work_error >= 0 &&
                 options.work_error < 1,
             "errors of estimates are {:g} and {:g}, expected shares from 0 to below 1",
             options.speed_error, options.work_error);
  for (const NodeFailure& failure : options.failures) {
    TY_REQUIRE(failure.node >= 0 && static_cast<size_t>(failure.node) < cluster.nodes.size(),
               "a failure of node {}, but there are {} nodes", failure.node, cluster.nodes.size());
    TY_REQUIRE(failure.until > failure.at, "node {} fails at {:g} s and is back at {:g} s",
               failure.node, failure.at, failure.until);
  }
  SlotCounts slots(cluster);
  for (const Job& job : jobs) check_job(slots, job);
}

double SlotCounts::of(const Resources& demand) {
  const auto [found, fresh] = known_.try_emplace(demand, 0);
  if (fresh) {
    const FreeNodes free(cluster_);
    for (size_t node = 0; node < free.size(); ++node) found->second += free.room(node, demand);
  }
  return found->second;
}

double seconds_alone(const Job& job, double work, SlotCounts& slots, double contention) {
  const double part = std::max(1e-6, slots.of(job.worker) / std::max(1.0, contention));
  double best = 0;
  for (int32_t type = 0; type < static_cast<int32_t>(slots.types()); ++type) {
    if (job.rigid) {
      const double turns = std::min(1.0, part / job.gang);
      best = std::max(
          best, turns * job.progress->speed(job.has_servers() ? job.gang : 0, job.gang, type));
      continue;
    }
    const auto most = std::clamp(static_cast<int32_t>(part), 1, job.most_workers);
    for (int32_t w = 1; w <= most; ++w) {
      const int32_t p = job.has_servers() ? std::min(w, job.most_servers) : 0;
      best = std::max(best, job.progress->speed(p, w, type) * std::min(1.0, part));
    }
  }
  return best > 0 ? work / best : 0;
}

}  // namespace trainyard::schedule
