// Nodes by what is used on them, the least used first.
#pragma once

#include <queue>
#include <utility>
#include <vector>

#include "cluster/schedule/simulator/cluster.h"

namespace trainyard::schedule {

// Places tasks one by one on the node with the smallest sum of used CPUs and GPUs, then index.
class LeastLoadedPlacer {
 public:
  explicit LeastLoadedPlacer(const Cluster& cluster);

  // The node that took it, or -1 if the least used one has no room.
  int32_t place(const Resources& demand);
  // A worker and, if the job has them, a server on one node; false: no room.
  bool place_bundle(const Job& job, Allocation& allocation);
  // `count` bundles or none.
  bool place_bundles(const Job& job, int32_t count, Allocation& allocation);
  const FreeNodes& free() const { return free_; }

 private:
  using Entry = std::pair<double, int32_t>;
  void rebuild();

  FreeNodes free_;
  std::vector<double> used_;
  std::vector<bool> up_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

}  // namespace trainyard::schedule
