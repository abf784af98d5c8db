#include <algorithm>
#include <queue>
#include <tuple>

#include "cluster/schedule/policies/placement.h"
#include "cluster/schedule/policies/policies.h"

namespace trainyard::schedule {
namespace {

struct Count {
  int32_t servers = 0;
  int32_t workers = 0;
};

void take(Resources& free, const Resources& demand) {
  for (size_t r = 0; r < kNumResources; ++r) free[r] -= demand[r];
}

// The amount of the resource that the task takes the largest share of.
double dominant_amount(const Resources& demand, const Resources& total) {
  const double amount = demand[dominant_share(demand, total).resource];
  return amount > 0 ? amount : 1;
}

struct MarginalGain {
  double seconds = 0;
  bool for_server = false;
};

// Of one more server or worker: remaining time saved per amount of its dominant resource.
MarginalGain best_gain(const ActiveJob& one, Count has, const Resources& total) {
  const Job& job = *one.job;
  const double left = one.remaining();
  const double now = left / one.speed(has.servers, has.workers);
  MarginalGain worker;
  if (has.workers < job.most_workers) {
    const double saved = now - left / one.speed(has.servers, has.workers + 1);
    worker.seconds = saved / dominant_amount(job.worker, total);
  }
  if (!job.has_servers() || has.servers >= job.most_servers) return worker;
  const double saved = now - left / one.speed(has.servers + 1, has.workers);
  const double seconds = saved / dominant_amount(job.server, total);
  return seconds >= worker.seconds ? MarginalGain{seconds, true} : worker;
}

class OptimusPolicy : public Policy {
 public:
  explicit OptimusPolicy(const OptimusOptions& options) : options_(options) {}

  std::string_view name() const override { return "optimus"; }

  std::vector<Change> decide(const ClusterState& state) override {
    return place(state, allocate(state));
  }
  // How much a task saves a job depends on what is left of it; a gang has all or nothing.
  bool watches(const Job& job) const override { return !job.rigid; }

 private:
  static std::vector<Count> allocate(const ClusterState& state) {
    const Resources total = state.cluster->total();
    Resources free = total;
    std::vector<Count> counts(state.jobs.size());
    using Entry = std::tuple<double, size_t, bool>;  // gain (negative), job, a server
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    const auto enqueue = [&](size_t i) {
      const MarginalGain gain = best_gain(state.jobs[i], counts[i], total);
      if (gain.seconds > 0) queue.push({-gain.seconds, i, gain.for_server});
    };
    for (size_t i = 0; i < state.jobs.size(); ++i) {
      const Resources& least = state.jobs[i].least;
      if (!fits_in(least, free)) continue;
      take(free, least);
      const Job& job = *state.jobs[i].job;
      const int32_t first = job.rigid ? job.gang : 1;
      counts[i] = {job.has_servers() ? first : 0, first};
      if (!job.rigid) enqueue(i);
    }
    while (!queue.empty()) {
      const auto [gain, i, server] = queue.top();
      queue.pop();
      const Job& job = *state.jobs[i].job;
      const Resources& demand = server ? job.server : job.worker;
      if (!fits_in(demand, free)) break;
      take(free, demand);
      (server ? counts[i].servers : counts[i].workers) += 1;
      enqueue(i);
    }
    return counts;
  }

  // Jobs whose numbers stay keep their nodes; the others follow, the smallest first.
  std::vector<Change> place(const ClusterState& state, const std::vector<Count>& counts) const {
    std::vector<Change> out;
    std::vector<size_t> order;
    for (size_t i = 0; i < state.jobs.size(); ++i) {
      if (keeps(state.jobs[i], counts[i])) continue;
      if (counts[i].workers == 0) {
        out.push_back({i, {}});
      } else {
        order.push_back(i);
      }
    }
    if (order.empty()) return out;
    FreeNodes free = state.free_nodes();
    for (const Change& one : out) {
      free.give_back(*state.jobs[one.position].job, *state.jobs[one.position].now);
    }
    for (const size_t i : order) free.give_back(*state.jobs[i].job, *state.jobs[i].now);
    const auto size = [&](size_t i) { return counts[i].servers + counts[i].workers; };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return size(a) < size(b); });
    EvenPlacer even(*state.cluster, free);
    for (const size_t i : order) {
      const Job& job = *state.jobs[i].job;
      const Count& count = counts[i];
      const bool freest = options_.placement == OptimusOptions::Placement::kFreest;
      Allocation& allocation = out.emplace_back(Change{i, {}}).allocation;
      if (!freest && even.place(job, count.servers, count.workers, allocation)) continue;
      if (freest || job.rigid) {
        place_on_freest(job, count.workers, free, allocation);
      } else {
        even.place_what_fits(job, count.servers, count.workers, allocation);
      }
    }
    return out;
  }

  static bool keeps(const ActiveJob& one, const Count& count) {
    return one.now->servers == count.servers && one.now->workers == count.workers;
  }

  OptimusOptions options_;
};

}  // namespace

std::unique_ptr<Policy> make_optimus(const OptimusOptions& options) {
  return std::make_unique<OptimusPolicy>(options);
}

}  // namespace trainyard::schedule
