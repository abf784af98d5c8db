// The nodes of a cluster and what is free on them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/schedule/simulator/job.h"

namespace trainyard::schedule {

struct Node {
  Resources capacity = {};
  int32_t type = 0;  // of its devices
  bool up = true;
};

struct Cluster {
  std::vector<Node> nodes;
  std::vector<std::string> types = {"gpu"};

  static Cluster uniform(int32_t nodes, const Resources& capacity);
  Resources total() const;  // of the nodes that are up
};

// Bookkeeping of one decision: what is still free on each node. Down nodes have nothing.
class FreeNodes {
 public:
  explicit FreeNodes(const Cluster& cluster);

  size_t size() const { return free_.size(); }
  const Resources& of(size_t node) const { return free_[node]; }
  const Resources& total() const { return total_; }
  int32_t type(size_t node) const { return types_[node]; }
  bool fits(size_t node, const Resources& demand) const;
  // How many such tasks fit on a node.
  int32_t room(size_t node, const Resources& demand) const;
  void take(size_t node, const Resources& demand, int32_t count = 1);
  void give_back(size_t node, const Resources& demand, int32_t count = 1);
  // What an allocation holds.
  void take(const Job& job, const Allocation& allocation);
  void give_back(const Job& job, const Allocation& allocation);
  bool fits(const Job& job, const Allocation& allocation) const;

 private:
  std::vector<Resources> free_;
  std::vector<int32_t> types_;
  Resources total_ = {};
};

// Adds a task on `node` to shares, counted with the last entry if it is the same node.
void add_share(Shares& shares, int32_t node, int32_t count = 1);

constexpr double kRounding = 1e-9;

// No quantity of `demand` is above that of `free`, up to rounding.
inline bool fits_in(const Resources& demand, const Resources& free) {
  for (size_t r = 0; r < kNumResources; ++r) {
    if (demand[r] > free[r] + kRounding) return false;
  }
  return true;
}
// The largest share of `total` that `demand` takes, and of which resource.
struct DominantShare {
  double share = 0;
  size_t resource = 0;
};
DominantShare dominant_share(const Resources& demand, const Resources& total);

}  // namespace trainyard::schedule
