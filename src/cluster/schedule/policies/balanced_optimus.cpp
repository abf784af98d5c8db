#include <queue>
#include <tuple>

#include "cluster/schedule/policies/least_loaded.h"
#include "cluster/schedule/policies/policies.h"

namespace trainyard::schedule {
namespace {

class BalancedOptimus : public Policy {
 public:
  std::string_view name() const override { return "optimus-balanced"; }

  std::vector<Change> decide(const ClusterState& state) override {
    return changes_to(state, allocate(state));
  }
  bool watches(const Job& job) const override { return !job.rigid; }

 private:
  static std::vector<Allocation> allocate(const ClusterState& state) {
    std::vector<Allocation> out(state.jobs.size());
    LeastLoadedPlacer nodes(*state.cluster);
    using Entry = std::tuple<double, size_t, bool>;  // saved (negative), job, a server
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (size_t i = 0; i < state.jobs.size(); ++i) {
      if (!first_tasks(*state.jobs[i].job, nodes, out[i])) return out;
      if (!state.jobs[i].job->rigid) queue.push(entry(state.jobs[i], out[i], i));
    }
    while (!queue.empty()) {
      const auto [saved, i, server] = queue.top();
      queue.pop();
      if (saved >= 0) break;
      const Job& job = *state.jobs[i].job;
      const bool full =
          server ? out[i].servers >= job.most_servers : out[i].workers >= job.most_workers;
      if (full) continue;
      if (!add(job, server, nodes, out[i])) break;
      queue.push(entry(state.jobs[i], out[i], i));
    }
    return out;
  }

  static bool add(const Job& job, bool server, LeastLoadedPlacer& nodes, Allocation& allocation) {
    const int32_t node = nodes.place(server ? job.server : job.worker);
    if (node < 0) return false;
    (server ? allocation.servers : allocation.workers) += 1;
    add_share(server ? allocation.server_nodes : allocation.worker_nodes, node);
    return true;
  }

  // A job without a worker or a server gains everything by one.
  static bool first_tasks(const Job& job, LeastLoadedPlacer& nodes, Allocation& allocation) {
    if (job.rigid) return nodes.place_bundles(job, job.gang, allocation);
    if (!add(job, false, nodes, allocation)) return false;
    if (!job.has_servers() || add(job, true, nodes, allocation)) return true;
    // A worker without a server gets nowhere, but it keeps its slot, as there.
    allocation = {};
    return false;
  }

  // DL2 asks for one more than a job may have, and drops the job when it turns out best.
  static std::tuple<double, size_t, bool> entry(const ActiveJob& job, const Allocation& has,
                                                size_t i) {
    const double left = job.remaining();
    const double now = left / job.speed(has.servers, has.workers);
    const double worker = now - left / job.speed(has.servers, has.workers + 1);
    if (!job.job->has_servers()) return {-worker, i, false};
    const double server = now - left / job.speed(has.servers + 1, has.workers);
    if (server >= worker) return {-server, i, true};
    return {-worker, i, false};
  }
};

}  // namespace

std::unique_ptr<Policy> make_balanced_optimus() {
  return std::make_unique<BalancedOptimus>();
}

}  // namespace trainyard::schedule
