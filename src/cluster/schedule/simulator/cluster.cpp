#include "cluster/schedule/simulator/cluster.h"

#include <cmath>

namespace trainyard::schedule {

Cluster Cluster::uniform(int32_t nodes, const Resources& capacity) {
  Cluster cluster;
  cluster.nodes.assign(static_cast<size_t>(nodes), Node{capacity, 0, true});
  return cluster;
}

Resources Cluster::total() const {
  Resources sum = {};
  for (const Node& node : nodes) {
    if (!node.up) continue;
    for (size_t r = 0; r < kNumResources; ++r) sum[r] += node.capacity[r];
  }
  return sum;
}

FreeNodes::FreeNodes(const Cluster& cluster) : total_(cluster.total()) {
  free_.reserve(cluster.nodes.size());
  for (const Node& node : cluster.nodes) {
    free_.push_back(node.up ? node.capacity : Resources{});
    types_.push_back(node.type);
  }
}

bool FreeNodes::fits(size_t node, const Resources& demand) const {
  return fits_in(demand, free_[node]);
}

int32_t FreeNodes::room(size_t node, const Resources& demand) const {
  double most = 1e9;
  for (size_t r = 0; r < kNumResources; ++r) {
    if (demand[r] > 0) {
      most = std::min(most, std::floor((free_[node][r] + kRounding) / demand[r]));
    }
  }
  return static_cast<int32_t>(most);
}

void FreeNodes::take(size_t node, const Resources& demand, int32_t count) {
  for (size_t r = 0; r < kNumResources; ++r) {
    free_[node][r] -= static_cast<double>(count) * demand[r];
    total_[r] -= static_cast<double>(count) * demand[r];
  }
}

void FreeNodes::give_back(size_t node, const Resources& demand, int32_t count) {
  take(node, demand, -count);
}

void FreeNodes::take(const Job& job, const Allocation& allocation) {
  for (const Share& share : allocation.worker_nodes) {
    take(static_cast<size_t>(share.node), job.worker, share.count);
  }
  for (const Share& share : allocation.server_nodes) {
    take(static_cast<size_t>(share.node), job.server, share.count);
  }
}

void FreeNodes::give_back(const Job& job, const Allocation& allocation) {
  for (const Share& share : allocation.worker_nodes) {
    give_back(static_cast<size_t>(share.node), job.worker, share.count);
  }
  for (const Share& share : allocation.server_nodes) {
    give_back(static_cast<size_t>(share.node), job.server, share.count);
  }
}

bool FreeNodes::fits(const Job& job, const Allocation& allocation) const {
  FreeNodes copy = *this;
  copy.take(job, allocation);
  for (const Shares* shares : {&allocation.worker_nodes, &allocation.server_nodes}) {
    for (const Share& share : *shares) {
      if (!fits_in({}, copy.free_[static_cast<size_t>(share.node)])) return false;
    }
  }
  return true;
}

void add_share(Shares& shares, int32_t node, int32_t count) {
  if (!shares.empty() && shares.back().node == node) {
    shares.back().count += count;
  } else {
    shares.push_back({node, count});
  }
}

DominantShare dominant_share(const Resources& demand, const Resources& total) {
  DominantShare most;
  for (size_t r = 0; r < kNumResources; ++r) {
    const double share = total[r] > 0 ? demand[r] / total[r] : 0;
    if (share > most.share) most = {share, r};
  }
  return most;
}

}  // namespace trainyard::schedule
