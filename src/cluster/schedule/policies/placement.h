// Nodes for jobs whose numbers of tasks are decided.
#pragma once

#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "cluster/schedule/simulator/cluster.h"

namespace trainyard::schedule {

// One node after another, the one with the most room first, then the lowest index. Servers go with
// the workers. Only nodes of device type `type` are taken (-1: any). False, with nothing taken, if
// there is not enough room.
bool place_on_freest(const Job& job, int32_t workers, FreeNodes& free, Allocation& out,
                     int32_t type = -1);

// All on the first node that holds them; more than a whole node takes whole idle nodes and one for
// the rest.
bool place_consolidated(const Job& job, int32_t workers, const Cluster& cluster, FreeNodes& free,
                        Allocation& out);

// Optimus: the fewest nodes on which the tasks fit spread evenly, those with the fewest used CPUs
// first (GPUs in a cluster without CPUs), then index. For one decision: while it lives nobody else
// may give anything back to `free`.
class EvenPlacer {
 public:
  EvenPlacer(const Cluster& cluster, FreeNodes& free);

  bool place(const Job& job, int32_t servers, int32_t workers, Allocation& out);
  // As many servers and workers in turns as fit anywhere; false if there is not one of each.
  bool place_what_fits(const Job& job, int32_t servers, int32_t workers, Allocation& out);

 private:
  using Entry = std::pair<double, int32_t>;
  Entry entry(int32_t node) const;
  int32_t pop();
  bool fits_evenly(const Job& job, int32_t servers, int32_t workers,
                   const std::vector<int32_t>& nodes) const;
  void give_back(const Resources& demand, const Shares& shares);

  const Cluster& cluster_;
  FreeNodes& free_;
  size_t by_;  // the resource that nodes are sorted by
  // What entries say may be old; pop() looks again.
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
  // By the demand of a task: all nodes before this one are too full for it.
  std::map<Resources, size_t> full_before_;
};

}  // namespace trainyard::schedule
