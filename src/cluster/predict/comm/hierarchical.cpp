// hierarchical: reduce-scatter inside each host, all-reduce between hosts, all-gather inside.
#include "cluster/predict/comm/comm.h"
#include "dist/collective_plan.h"

namespace trainyard::predict {
namespace {

// Every member takes its own share to the other hosts; together they put one message on the host's
// network link.
CommCost cost_hierarchical(const Topology& topology, double bytes) {
  const dist::CollectivePlan near = dist::ring_half_plan(topology.local());
  const dist::CollectivePlan far = dist::ring_plan(topology.hosts());
  CommCost total = over_link(topology.inside, 2 * near.steps, 2 * near.share * bytes);
  total += over_link(topology.between, far.steps, far.share * bytes);
  return total;
}

}  // namespace

extern const CommModel kCommHierarchical = {
    "hierarchical", "rings inside the hosts, a ring between them", cost_hierarchical};

}  // namespace trainyard::predict
