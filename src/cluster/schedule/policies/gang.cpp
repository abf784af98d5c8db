#include <algorithm>
#include <cmath>
#include <string>

#include "cluster/schedule/policies/placement.h"
#include "cluster/schedule/policies/policies.h"

namespace trainyard::schedule {
namespace {

using Order = GangOptions::Order;

// A queue of jobs by their index in the workload.
using Queue = std::vector<size_t>;

class GangPolicy : public Policy {
 public:
  GangPolicy(const GangOptions& options, std::string_view name)
      : options_(options), name_(name), queues_(options.queue_limits.size() + 1) {}

  std::string_view name() const override { return name_; }
  double wake_up() const override { return wake_up_; }

  std::vector<Change> decide(const ClusterState& state) override {
    if (!state.jobs.empty()) positions_.resize(state.jobs.back().index + 1);
    for (size_t i = 0; i < state.jobs.size(); ++i) positions_[state.jobs[i].index] = i;
    take_arrivals(state);
    // Without preemption those that run go on and the others take what is left.
    if (!preempts()) return place(state, every(state));
    if (by_attained()) {
      demote(state);
    } else {
      sort(state);
    }
    const std::vector<bool> runs = choose(state);
    if (by_attained()) set_wake_up(state, runs);
    if (options_.waiting_last) waiting_behind(runs);
    return place(state, runs);
  }
  bool watches(const Job&) const override {
    return preempts() && options_.order != Order::kSmallest;
  }

 private:
  static std::vector<bool> every(const ClusterState& state) {
    return std::vector<bool>(state.jobs.size(), true);
  }
  bool by_attained() const {
    return options_.order == Order::kAttained || options_.order == Order::kAttained2d;
  }
  bool preempts() const {
    return options_.order != Order::kArrival && options_.order != Order::kBackfill;
  }

  void take_arrivals(const ClusterState& state) {
    for (Queue& queue : queues_) {
      std::erase_if(queue, [&](size_t job) {
        const size_t i = positions_[job];
        return i >= state.jobs.size() || state.jobs[i].index != job;
      });
    }
    for (const ActiveJob& one : state.jobs) {
      if (one.index < arrived_) continue;
      queues_[0].push_back(one.index);
      arrived_ = one.index + 1;
      queue_of_.resize(arrived_, 0);
    }
  }

  double service(const ActiveJob& one) const {
    return options_.order == Order::kAttained2d ? one.attained * one.job->gang : one.attained;
  }

  // One queue down at a time.
  void demote(const ClusterState& state) {
    for (const ActiveJob& one : state.jobs) {
      const size_t q = queue_of_[one.index];
      if (one.now->empty() || q == options_.queue_limits.size() ||
          service(one) < options_.queue_limits[q]) {
        continue;
      }
      std::erase(queues_[q], one.index);
      queues_[q + 1].push_back(one.index);
      queue_of_[one.index] += 1;
    }
  }

  void sort(const ClusterState& state) {
    const auto key = [&](size_t job) {
      const ActiveJob& one = state.jobs[positions_[job]];
      const double workers = one.job->gang;
      if (options_.order == Order::kSmallest) return workers;
      const int32_t servers = one.job->has_servers() ? one.job->gang : 0;
      const double left = one.remaining() / one.speed(servers, one.job->gang);
      return options_.order == Order::kShortest ? left : left * workers;
    };
    std::stable_sort(queues_[0].begin(), queues_[0].end(),
                     [&](size_t a, size_t b) { return key(a) < key(b); });
  }

  // By position in state.jobs; by totals, since every gang that fits the totals fits the nodes.
  std::vector<bool> choose(const ClusterState& state) const {
    std::vector<bool> runs(state.jobs.size(), false);
    Resources left = state.cluster->total();
    for (const Queue& queue : queues_) {
      for (const size_t job : queue) {
        const size_t i = positions_[job];
        Resources demand = state.jobs[i].job->bundle();
        for (double& amount : demand) amount *= state.jobs[i].job->gang;
        if (!fits_in(demand, left)) continue;
        for (size_t r = 0; r < kNumResources; ++r) left[r] -= demand[r];
        runs[i] = true;
      }
    }
    return runs;
  }

  // As in the released simulator: the time until the limit is reckoned from the seconds run, not
  // from seconds times workers, so that a demotion may come late.
  void set_wake_up(const ClusterState& state, const std::vector<bool>& runs) {
    wake_up_ = kNever;
    for (size_t q = 0; q < options_.queue_limits.size(); ++q) {
      for (const size_t job : queues_[q]) {
        const size_t i = positions_[job];
        if (!runs[i]) continue;
        double left = options_.queue_limits[q] - state.jobs[i].attained;
        const int32_t gang = state.jobs[i].job->gang;
        if (options_.order == Order::kAttained2d && gang > 1) left = std::floor(left / gang);
        wake_up_ = std::min(wake_up_, state.now + left);
      }
    }
  }

  void waiting_behind(const std::vector<bool>& runs) {
    if (!by_attained()) return;
    for (Queue& queue : queues_) {
      std::stable_partition(queue.begin(), queue.end(),
                            [&](size_t job) { return runs[positions_[job]]; });
    }
  }

  std::vector<Change> place(const ClusterState& state, const std::vector<bool>& runs) const {
    std::vector<Change> out;
    FreeNodes free = state.free_nodes();
    for (size_t i = 0; i < runs.size(); ++i) {
      const ActiveJob& one = state.jobs[i];
      if (runs[i] || one.now->empty()) continue;
      free.give_back(*one.job, *one.now);
      out.push_back({i, {}});
    }
    for (const Queue& queue : queues_) {
      for (const size_t job : queue) {
        const size_t i = positions_[job];
        if (!runs[i] || !state.jobs[i].now->empty()) continue;
        const Job& one = *state.jobs[i].job;
        Change change{i, {}};
        const bool placed =
            options_.consolidate
                ? place_consolidated(one, one.gang, *state.cluster, free, change.allocation)
                : place_on_freest(one, one.gang, free, change.allocation);
        if (placed) out.push_back(std::move(change));
        if (!placed && options_.order == Order::kArrival) return out;
      }
    }
    return out;
  }

  GangOptions options_;
  std::string name_;
  std::vector<Queue> queues_;
  std::vector<size_t> positions_;  // of a job of the workload in state.jobs
  std::vector<size_t> queue_of_;   // of a job of the workload
  size_t arrived_ = 0;
  double wake_up_ = kNever;
};

}  // namespace

std::unique_ptr<Policy> make_gang(const GangOptions& options, std::string_view name) {
  return std::make_unique<GangPolicy>(options, name);
}

}  // namespace trainyard::schedule
