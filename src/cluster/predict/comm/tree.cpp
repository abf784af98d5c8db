// tree: whole messages up a binomial tree and down again.
#include "cluster/predict/comm/comm.h"
#include "dist/collective_plan.h"

namespace trainyard::predict {
namespace {

// The lower rounds stay inside the hosts, the upper ones join the hosts.
CommCost cost_tree(const Topology& topology, double bytes) {
  const dist::CollectivePlan near = dist::tree_plan(topology.local());
  const dist::CollectivePlan far = dist::tree_plan(topology.hosts());
  CommCost total = over_link(topology.inside, near.steps, near.share * bytes);
  total += over_link(topology.between, far.steps, far.share * bytes);
  return total;
}

}  // namespace

extern const CommModel kCommTree = {"tree", "whole messages up a binomial tree and down",
                                    cost_tree};

}  // namespace trainyard::predict
