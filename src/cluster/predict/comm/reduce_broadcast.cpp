// reduce-broadcast: one worker sums everybody's gradients and sends the result back.
#include "cluster/predict/comm/comm.h"
#include "dist/collective_plan.h"

namespace trainyard::predict {
namespace {

// The members of the summing worker's host come over the inner link, the others over the network.
CommCost cost_reduce_broadcast(const Topology& topology, double bytes) {
  const dist::CollectivePlan near = dist::reduce_broadcast_plan(topology.local());
  const dist::CollectivePlan all = dist::reduce_broadcast_plan(topology.workers);
  CommCost total = over_link(topology.inside, near.steps, near.share * bytes);
  total += over_link(topology.between, all.steps - near.steps, (all.share - near.share) * bytes);
  return total;
}

}  // namespace

extern const CommModel kCommReduceBroadcast = {"reduce-broadcast",
                                               "one worker sums and sends the result to the others",
                                               cost_reduce_broadcast};

}  // namespace trainyard::predict
