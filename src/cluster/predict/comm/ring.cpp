// ring: reduce-scatter and all-gather around one ring through all workers.
#include <algorithm>

#include "cluster/predict/comm/comm.h"
#include "dist/collective_plan.h"

namespace trainyard::predict {
namespace {

// Every step waits for the slowest link of the ring; each host has one way in and one way out.
CommCost cost_ring(const Topology& topology, double bytes) {
  const dist::CollectivePlan plan = dist::ring_plan(topology.workers);
  LinkSpeed slowest = topology.inside;
  if (!topology.one_host()) {
    slowest.bytes_per_s = topology.per_host > 1
                              ? std::min(slowest.bytes_per_s, topology.between.bytes_per_s)
                              : topology.between.bytes_per_s;
    slowest.latency_s = std::max(slowest.latency_s, topology.between.latency_s);
  }
  return over_link(slowest, plan.steps, plan.share * bytes);
}

}  // namespace

extern const CommModel kCommRing = {"ring", "reduce-scatter and all-gather around a ring",
                                    cost_ring};

}  // namespace trainyard::predict
