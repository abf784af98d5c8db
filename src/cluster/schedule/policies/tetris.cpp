// Tetris (Grandl et al., SIGCOMM 2014) as DL2's simulator has it.
#include <algorithm>

#include "cluster/schedule/policies/policies.h"

namespace trainyard::schedule {
namespace {

double dot(const Resources& a, const Resources& b) {
  double sum = 0;
  for (size_t r = 0; r < kNumResources; ++r) sum += a[r] * b[r];
  return sum;
}

class TetrisPolicy : public Policy {
 public:
  std::string_view name() const override { return "tetris"; }

  std::vector<Change> decide(const ClusterState& state) override {
    return changes_to(state, allocate(state));
  }

 private:
  static std::vector<Allocation> allocate(const ClusterState& state) {
    std::vector<Allocation> out(state.jobs.size());
    if (state.jobs.empty()) return out;
    FreeNodes free(*state.cluster);
    std::vector<Resources> bundles;
    std::vector<double> left;
    double mean_left = 0;
    for (const ActiveJob& one : state.jobs) {
      bundles.push_back(one.job->bundle());
      double sum = 0;
      for (const double amount : bundles.back()) sum += amount;
      left.push_back(sum * one.remaining_share());
      mean_left += left.back();
    }
    for (size_t node = 0; node < free.size(); ++node) {
      while (fill(state, node, bundles, left, mean_left, free, out)) {
      }
    }
    drop_parts(state, free, out);
    return out;
  }

  // One bundle of the job with the best score onto the node; false once it does not fit.
  static bool fill(const ClusterState& state, size_t node, const std::vector<Resources>& bundles,
                   const std::vector<double>& left, double sum_left, FreeNodes& free,
                   std::vector<Allocation>& out) {
    double sum_align = 0;
    for (const Resources& bundle : bundles) sum_align += dot(free.of(node), bundle);
    const double weight = sum_left > 0 ? sum_align / sum_left : 0;
    if (weight == 0) return false;
    size_t best = state.jobs.size();
    double most = 0;
    for (size_t i = 0; i < state.jobs.size(); ++i) {
      const Job& job = *state.jobs[i].job;
      if (out[i].workers >= (job.rigid ? job.gang : job.most_workers)) continue;
      const double score = dot(free.of(node), bundles[i]) + weight * left[i];
      if (best == state.jobs.size() || score > most) {
        best = i;
        most = score;
      }
    }
    if (best == state.jobs.size() || !free.fits(node, bundles[best])) return false;
    free.take(node, bundles[best]);
    Allocation& allocation = out[best];
    allocation.workers += 1;
    add_share(allocation.worker_nodes, static_cast<int32_t>(node));
    if (state.jobs[best].job->has_servers()) {
      allocation.servers += 1;
      add_share(allocation.server_nodes, static_cast<int32_t>(node));
    }
    return true;
  }

  // A gang that is not whole does not run.
  static void drop_parts(const ClusterState& state, FreeNodes& free, std::vector<Allocation>& out) {
    for (size_t i = 0; i < out.size(); ++i) {
      const Job& job = *state.jobs[i].job;
      if (!job.rigid || out[i].workers == job.gang) continue;
      for (const Share& share : out[i].worker_nodes) {
        free.give_back(static_cast<size_t>(share.node), job.bundle(), share.count);
      }
      out[i] = {};
    }
  }
};

}  // namespace

std::unique_ptr<Policy> make_tetris() {
  return std::make_unique<TetrisPolicy>();
}

}  // namespace trainyard::schedule
