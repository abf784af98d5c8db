// central: one server that is no worker receives every gradient and returns the weights.
#include "cluster/predict/comm/comm.h"
#include "dist/collective_plan.h"

namespace trainyard::predict {
namespace {

// All messages pass the server's one link: inside the host, or the network.
CommCost cost_central(const Topology& topology, double bytes) {
  const dist::CollectivePlan plan = dist::central_plan(topology.workers);
  return over_link(topology.widest(), plan.steps, plan.share * bytes);
}

}  // namespace

extern const CommModel kCommCentral = {"central", "one server, all workers send and receive",
                                       cost_central};

}  // namespace trainyard::predict
