// Nodes for jobs whose numbers of tasks are decided.
#pragma once

#include <queue>
#include <utility>
#include <vector>

#include "schedule/simulator/cluster.h"

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

// Optimus: the fewest nodes on which the tasks fit spread evenly, those with the most free CPUs
// first.
class EvenPlacer {
 public:
  EvenPlacer(const Cluster& cluster, FreeNodes& free);

  bool place(const Job& job, int32_t servers, int32_t workers, Allocation& out);
  // As many servers and workers in turns as fit anywhere; false if there is not one of each.
  bool place_what_fits(const Job& job, int32_t servers, int32_t workers, Allocation& out);

 private:
  using Entry = std::pair<double, int32_t>;
  double used_cpu(int32_t node) const;
  int32_t pop();
  bool fits_evenly(const Job& job, int32_t servers, int32_t workers,
                   const std::vector<int32_t>& nodes) const;

  const Cluster& cluster_;
  FreeNodes& free_;
  // What entries say may be old; pop() looks again.
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

}  // namespace trainyard::schedule
