#include "cluster/schedule/simulator/policy.h"

#include "base/error.h"

namespace trainyard::schedule {

FreeNodes ClusterState::free_nodes() const {
  if (free != nullptr) return *free;
  FreeNodes nodes(*cluster);
  for (const ActiveJob& one : jobs) nodes.take(*one.job, *one.now);
  return nodes;
}

std::vector<Change> changes_to(const ClusterState& state, std::vector<Allocation> allocations) {
  TY_CHECK(allocations.size() == state.jobs.size(), "{} answers", allocations.size());
  std::vector<Change> changes;
  for (size_t i = 0; i < allocations.size(); ++i) {
    if (allocations[i] != *state.jobs[i].now) changes.push_back({i, std::move(allocations[i])});
  }
  return changes;
}

}  // namespace trainyard::schedule
