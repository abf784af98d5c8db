#include "cluster/schedule/policies/least_loaded.h"

namespace trainyard::schedule {
namespace {

double slots_of(const Resources& demand) {
  return demand[static_cast<size_t>(Resource::kCpu)] + demand[static_cast<size_t>(Resource::kGpu)];
}

}  // namespace

LeastLoadedPlacer::LeastLoadedPlacer(const Cluster& cluster)
    : free_(cluster), used_(cluster.nodes.size(), 0.0) {
  for (const Node& node : cluster.nodes) up_.push_back(node.up);
  rebuild();
}

void LeastLoadedPlacer::rebuild() {
  heap_ = {};
  for (size_t node = 0; node < used_.size(); ++node) {
    if (up_[node]) heap_.push({used_[node], static_cast<int32_t>(node)});
  }
}

int32_t LeastLoadedPlacer::place(const Resources& demand) {
  if (heap_.empty()) return -1;
  const int32_t node = heap_.top().second;
  if (!free_.fits(static_cast<size_t>(node), demand)) return -1;
  heap_.pop();
  free_.take(static_cast<size_t>(node), demand);
  used_[static_cast<size_t>(node)] += slots_of(demand);
  heap_.push({used_[static_cast<size_t>(node)], node});
  return node;
}

bool LeastLoadedPlacer::place_bundle(const Job& job, Allocation& allocation) {
  const int32_t node = place(job.bundle());
  if (node < 0) return false;
  allocation.workers += 1;
  add_share(allocation.worker_nodes, node);
  if (job.has_servers()) {
    allocation.servers += 1;
    add_share(allocation.server_nodes, node);
  }
  return true;
}

bool LeastLoadedPlacer::place_bundles(const Job& job, int32_t count, Allocation& allocation) {
  for (int32_t i = 0; i < count; ++i) {
    if (place_bundle(job, allocation)) continue;
    for (const Share& share : allocation.worker_nodes) {
      free_.give_back(static_cast<size_t>(share.node), job.bundle(), share.count);
      used_[static_cast<size_t>(share.node)] -= share.count * slots_of(job.bundle());
    }
    allocation = {};
    rebuild();
    return false;
  }
  return true;
}

}  // namespace trainyard::schedule
