// ps: the weights are spread over parameter servers; workers push gradients and pull weights.
#include "cluster/predict/comm/comm.h"
#include "dist/collective_plan.h"

namespace trainyard::predict {
namespace {

// The members of a host first sum among themselves, so that a host is one worker to the servers.
// Without a number of servers there is one beside each host's workers, which keeps 1/hosts of the
// traffic at home.
CommCost cost_parameter_server(const Topology& topology, double bytes) {
  const dist::CollectivePlan near = dist::ring_plan(topology.local());
  CommCost total = over_link(topology.inside, near.steps, near.share * bytes);
  if (topology.one_host() && topology.servers == 0) return total;
  const int64_t hosts = topology.hosts();
  const int64_t servers = topology.servers > 0 ? topology.servers : hosts;
  const dist::CollectivePlan far = dist::parameter_server_plan(hosts, servers);
  const double home = topology.servers > 0 ? 0.0 : 1.0 / static_cast<double>(hosts);
  total += over_link(topology.between, far.steps, far.share * bytes * (1 - home));
  return total;
}

}  // namespace

extern const CommModel kCommParameterServer = {
    "ps", "weights spread over parameter servers (`servers`)", cost_parameter_server};

}  // namespace trainyard::predict
