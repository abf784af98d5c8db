#include "cluster/schedule/policies/placement.h"

#include <algorithm>
#include <cmath>

namespace trainyard::schedule {
namespace {

void add_bundles(const Job& job, int32_t node, int32_t count, FreeNodes& free, Allocation& out) {
  free.take(static_cast<size_t>(node), job.bundle(), count);
  out.workers += count;
  add_share(out.worker_nodes, node, count);
  if (job.has_servers()) {
    out.servers += count;
    add_share(out.server_nodes, node, count);
  }
}

// How many of `count` tasks the j-th of k nodes gets.
int32_t even_part(int32_t count, size_t j, size_t k) {
  const auto nodes = static_cast<int32_t>(k);
  return count / nodes + (static_cast<int32_t>(j) < count % nodes ? 1 : 0);
}

Resources sum_of(const Job& job, int32_t servers, int32_t workers) {
  Resources sum = {};
  for (size_t r = 0; r < kNumResources; ++r) {
    sum[r] = servers * job.server[r] + workers * job.worker[r];
  }
  return sum;
}

}  // namespace

// Fewest nodes first by taking the freest; all or nothing. `type` below 0: any.
bool place_on_freest(const Job& job, int32_t workers, FreeNodes& free, Allocation& out,
                     int32_t type) {
  const Resources bundle = job.bundle();
  // Negative so that ties go to the node of the lowest number.
  std::vector<std::pair<int32_t, int32_t>> rooms;  // negative, node
  int64_t all = 0;
  for (size_t node = 0; node < free.size(); ++node) {
    const int32_t room = free.room(node, bundle);
    if (room <= 0 || (type >= 0 && free.type(node) != type)) continue;
    rooms.emplace_back(-room, static_cast<int32_t>(node));
    all += room;
  }
  if (all < workers) return false;
  std::priority_queue<std::pair<int32_t, int32_t>, std::vector<std::pair<int32_t, int32_t>>,
                      std::greater<>>
      queue(std::greater<>{}, std::move(rooms));
  for (int32_t left = workers; left > 0;) {
    const auto [room, node] = queue.top();
    queue.pop();
    const int32_t count = std::min(left, -room);
    add_bundles(job, node, count, free, out);
    left -= count;
  }
  out.type = std::max(type, 0);
  return true;
}

// Whole idle nodes and one part of a node, as clusters place gangs for the sake of communication.
bool place_consolidated(const Job& job, int32_t workers, const Cluster& cluster, FreeNodes& free,
                        Allocation& out) {
  const Resources bundle = job.bundle();
  int32_t whole = 0;  // bundles that an idle node holds
  const FreeNodes idle(cluster);
  for (size_t node = 0; node < idle.size(); ++node)
    whole = std::max(whole, idle.room(node, bundle));
  if (whole < 1) return false;
  std::vector<int32_t> full;
  int32_t rest = workers;
  // Idle: all of its capacity is free.
  for (size_t node = 0; node < free.size() && rest > whole; ++node) {
    if (idle.room(node, bundle) == whole && fits_in(idle.of(node), free.of(node))) {
      full.push_back(static_cast<int32_t>(node));
      rest -= whole;
    }
  }
  if (rest > whole) return false;
  int32_t last = -1;
  for (size_t node = 0; node < free.size() && last < 0; ++node) {
    const auto index = static_cast<int32_t>(node);
    if (std::find(full.begin(), full.end(), index) != full.end()) continue;
    if (free.room(node, bundle) >= rest) last = index;
  }
  if (last < 0) return false;
  for (const int32_t node : full) add_bundles(job, node, whole, free, out);
  add_bundles(job, last, rest, free, out);
  return true;
}

// A heap of nodes by load. Entries may be out of date, since others take from `free` too; pop()
// brings them up to date.
EvenPlacer::EvenPlacer(const Cluster& cluster, FreeNodes& free)
    : cluster_(cluster),
      free_(free),
      by_(static_cast<size_t>(cluster.total()[static_cast<size_t>(Resource::kCpu)] > 0
                                  ? Resource::kCpu
                                  : Resource::kGpu)) {
  std::vector<Entry> entries;
  for (size_t node = 0; node < cluster.nodes.size(); ++node) {
    if (cluster.nodes[node].up) {
      entries.push_back(entry(static_cast<int32_t>(node)));
    }
  }
  heap_ = decltype(heap_)(std::greater<>{}, std::move(entries));
}

EvenPlacer::Entry EvenPlacer::entry(int32_t node) const {
  const auto index = static_cast<size_t>(node);
  const double used = cluster_.nodes[index].capacity[by_] - free_.of(index)[by_];
  // Equal whatever the order in which tasks came and went.
  return {std::nearbyint(used / kRounding), node};
}

int32_t EvenPlacer::pop() {
  for (;;) {
    const Entry top = heap_.top();
    heap_.pop();
    const Entry now = entry(top.second);
    // Loads of others can only have grown, so an entry that is still true is the least.
    if (now == top) return top.second;
    heap_.push(now);
  }
}

bool EvenPlacer::fits_evenly(const Job& job, int32_t servers, int32_t workers,
                             const std::vector<int32_t>& nodes) const {
  for (size_t j = 0; j < nodes.size(); ++j) {
    const Resources demand =
        sum_of(job, even_part(servers, j, nodes.size()), even_part(workers, j, nodes.size()));
    if (!free_.fits(static_cast<size_t>(nodes[j]), demand)) return false;
  }
  return true;
}

bool EvenPlacer::place(const Job& job, int32_t servers, int32_t workers, Allocation& out) {
  const auto most = static_cast<size_t>(std::max(servers, workers));
  // Of these every node gets at least one, so a node without room for it ends the search.
  const Resources& least = workers >= servers ? job.worker : job.server;
  std::vector<int32_t> nodes;
  bool found = false;
  while (!found && nodes.size() < most && !heap_.empty()) {
    nodes.push_back(pop());
    if (!free_.fits(static_cast<size_t>(nodes.back()), least)) break;
    found = fits_evenly(job, servers, workers, nodes);
  }
  if (found) {
    out.servers = servers;
    out.workers = workers;
    for (size_t j = 0; j < nodes.size(); ++j) {
      const int32_t p = even_part(servers, j, nodes.size());
      const int32_t w = even_part(workers, j, nodes.size());
      if (p > 0) out.server_nodes.push_back({nodes[j], p});
      if (w > 0) out.worker_nodes.push_back({nodes[j], w});
      free_.take(static_cast<size_t>(nodes[j]), sum_of(job, p, w));
    }
  }
  // Taken or not, nodes go back with their load of now.
  for (const int32_t node : nodes) heap_.push(entry(node));
  return found;
}

// Servers and workers in turn, so that what fits is usable: workers without a server compute
// nothing.
bool EvenPlacer::place_what_fits(const Job& job, int32_t servers, int32_t workers,
                                 Allocation& out) {
  const auto put = [&](const Resources& demand, size_t& node, Shares& shares, int32_t& count) {
    while (node < free_.size() && !free_.fits(node, demand)) ++node;
    if (node == free_.size()) return false;
    free_.take(node, demand);
    add_share(shares, static_cast<int32_t>(node));
    count += 1;
    return true;
  };
  // Room only shrinks, so no task has to look twice at a node that was too full for one like it.
  size_t& server_node = full_before_[job.server];
  size_t& worker_node = full_before_[job.worker];
  bool server = servers > 0;
  while (out.servers < servers || out.workers < workers) {
    if (out.servers == servers) server = false;
    if (out.workers == workers) server = true;
    const bool done = server ? put(job.server, server_node, out.server_nodes, out.servers)
                             : put(job.worker, worker_node, out.worker_nodes, out.workers);
    if (!done) break;
    server = !server;
  }
  if (out.workers > 0 && (servers == 0 || out.servers > 0)) return true;
  give_back(job.server, out.server_nodes);
  give_back(job.worker, out.worker_nodes);
  out = {};
  return false;
}

void EvenPlacer::give_back(const Resources& demand, const Shares& shares) {
  for (const Share& share : shares) {
    const auto node = static_cast<size_t>(share.node);
    free_.give_back(node, demand, share.count);
    // Room has grown again, so the search must not begin behind it.
    for (auto& [other, first] : full_before_) first = std::min(first, node);
  }
}

}  // namespace trainyard::schedule
