// DRF, FIFO and SRTF over bundles of a worker and a server.
#include <algorithm>
#include <queue>
#include <tuple>

#include "cluster/schedule/policies/least_loaded.h"
#include "cluster/schedule/policies/policies.h"

namespace trainyard::schedule {
namespace {

Resources held(const Job& job, const Allocation& allocation) {
  Resources sum = {};
  for (size_t r = 0; r < kNumResources; ++r) {
    sum[r] = allocation.workers * job.worker[r] + allocation.servers * job.server[r];
  }
  return sum;
}

bool has_all(const Job& job, const Allocation& allocation) {
  return allocation.workers >= job.most_workers ||
         (job.has_servers() && allocation.servers >= job.most_servers);
}

class BundlePolicy : public Policy {
 public:
  explicit BundlePolicy(BundleOrder order) : order_(order) {}

  bool watches(const Job&) const override { return order_ == BundleOrder::kShortest; }
  std::string_view name() const override {
    if (order_ == BundleOrder::kFair) return "drf";
    return order_ == BundleOrder::kArrival ? "fifo" : "srtf";
  }

  std::vector<Change> decide(const ClusterState& state) override {
    return changes_to(state, order_ == BundleOrder::kFair ? fair(state) : one_after_another(state));
  }

 private:
  static std::vector<Allocation> fair(const ClusterState& state) {
    std::vector<Allocation> out(state.jobs.size());
    LeastLoadedPlacer nodes(*state.cluster);
    const Resources total = state.cluster->total();
    using Entry = std::tuple<double, double, size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (size_t i = 0; i < state.jobs.size(); ++i) {
      queue.push({0, state.jobs[i].job->arrival, i});
    }
    while (!queue.empty()) {
      const auto [share, arrival, i] = queue.top();
      queue.pop();
      const Job& job = *state.jobs[i].job;
      if (job.rigid) {
        nodes.place_bundles(job, job.gang, out[i]);
        continue;
      }
      if (!nodes.place_bundle(job, out[i])) break;
      if (!has_all(job, out[i])) {
        queue.push({dominant_share(held(job, out[i]), total).share, arrival, i});
      }
    }
    return out;
  }

  std::vector<Allocation> one_after_another(const ClusterState& state) const {
    std::vector<size_t> order(state.jobs.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (order_ == BundleOrder::kShortest) {
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return state.jobs[a].remaining_share() < state.jobs[b].remaining_share();
      });
    }
    std::vector<Allocation> out(state.jobs.size());
    LeastLoadedPlacer nodes(*state.cluster);
    for (const size_t i : order) {
      const Job& job = *state.jobs[i].job;
      if (job.rigid) {
        if (!nodes.place_bundles(job, job.gang, out[i])) return out;
        continue;
      }
      while (!has_all(job, out[i])) {
        if (!nodes.place_bundle(job, out[i])) return out;
      }
    }
    return out;
  }

  BundleOrder order_;
};

}  // namespace

std::unique_ptr<Policy> make_bundles(BundleOrder order) {
  return std::make_unique<BundlePolicy>(order);
}

}  // namespace trainyard::schedule
