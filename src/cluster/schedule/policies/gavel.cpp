#include <algorithm>
#include <map>
#include <tuple>

#include "cluster/schedule/policies/gavel_lp.h"
#include "cluster/schedule/policies/placement.h"
#include "cluster/schedule/policies/policies.h"

namespace trainyard::schedule {
namespace {

class GavelPolicy : public Policy {
 public:
  explicit GavelPolicy(GavelGoal goal) : goal_(goal) {}

  std::string_view name() const override {
    if (goal_ == GavelGoal::kFairness) return "gavel-las";
    return goal_ == GavelGoal::kMakespan ? "gavel-makespan" : "gavel-ftf";
  }

  std::vector<Change> decide(const ClusterState& state) override {
    if (state.jobs.empty()) return {};
    if (changed(state)) solve(state);
    return changes_to(state, hand_out(state));
  }

 private:
  // Shares are reckoned anew when a job has come or gone, or a node has failed or returned.
  // Positions in `shares_` are those of `state.jobs`, so they hold as long as the list is the same.
  bool changed(const ClusterState& state) {
    constexpr auto kGpu = static_cast<size_t>(Resource::kGpu);
    std::vector<size_t> jobs;
    for (const ActiveJob& one : state.jobs) jobs.push_back(one.index);
    std::vector<double> devices(state.cluster->types.size(), 0.0);
    for (const Node& node : state.cluster->nodes) {
      if (node.up) devices[static_cast<size_t>(node.type)] += node.capacity[kGpu];
    }
    if (jobs == jobs_ && devices == devices_) return false;
    jobs_ = std::move(jobs);
    devices_ = std::move(devices);
    return true;
  }

  static int32_t servers(const Job& job) { return job.has_servers() ? job.gang : 0; }

  void solve(const ClusterState& state) {
    const size_t types = devices_.size();
    constexpr auto kGpu = static_cast<size_t>(Resource::kGpu);
    // Rounds before belong to other shares.
    received_.clear();
    rounds_ = 0;
    GavelProblem problem;
    problem.devices = devices_;
    std::vector<double> weights, steps, elapsed, alone;
    for (const ActiveJob& one : state.jobs) {
      std::vector<double> row;
      for (size_t j = 0; j < types; ++j) {
        row.push_back(one.speed(servers(*one.job), one.job->gang, static_cast<int32_t>(j)));
      }
      problem.throughput.push_back(row);
      // Devices that a job takes; jobs without GPUs must not divide by zero.
      problem.scale.push_back(one.job->gang * std::max(1e-9, one.job->worker[kGpu]));
      weights.push_back(one.job->weight);
      steps.push_back(one.remaining());
      elapsed.push_back(state.now - one.job->arrival);
    }
    const std::vector<double> equal = proportional_throughput(problem);
    // Nothing can be shared while all devices are down that the jobs run on.
    if (std::none_of(equal.begin(), equal.end(), [](double reached) { return reached > 0; })) {
      shares_.assign(state.jobs.size(), std::vector<double>(types, 0.0));
      return;
    }
    if (goal_ == GavelGoal::kFairness) {
      shares_ = max_min_fairness(problem, weights).share;
    } else if (goal_ == GavelGoal::kMakespan) {
      // A job whose devices are all down would hold up all others.
      for (size_t m = 0; m < steps.size(); ++m) {
        if (equal[m] == 0) steps[m] = 0;
      }
      shares_ = min_makespan(problem, steps).share;
    } else {
      // What each job would have alone on an equal part of the cluster: the yardstick of Themis'
      // finish-time fairness (Gavel, section 4).
      double devices = 0;
      for (const double count : problem.devices) devices += count;
      for (size_t m = 0; m < steps.size(); ++m) {
        const double part = devices / static_cast<double>(steps.size()) / problem.scale[m];
        const double whole = steps[m] / std::max(1e-9, state.jobs[m].remaining_share());
        alone.push_back(whole / (equal[m] * std::min(1.0, part)));
      }
      shares_ = finish_time_fairness(problem, steps, elapsed, alone).share;
    }
  }

  // A round: the pairs of job and type that are furthest behind their share first.
  std::vector<Allocation> hand_out(const ClusterState& state) {
    std::vector<std::tuple<double, size_t, size_t>> order;  // priority (negative), job, type
    for (size_t m = 0; m < shares_.size(); ++m) {
      for (size_t j = 0; j < shares_[m].size(); ++j) {
        if (shares_[m][j] < 1e-9) continue;
        const double had = received_[{m, j}];
        // Gavel, section 5: share over the part of rounds received. A pair that had none yet goes
        // before all that had some, larger shares first.
        const double priority = had == 0 ? 1e9 * shares_[m][j] : shares_[m][j] / (had / rounds_);
        order.emplace_back(-priority, m, j);
      }
    }
    std::sort(order.begin(), order.end());
    std::vector<Allocation> out(state.jobs.size());
    FreeNodes free(*state.cluster);
    for (const auto& [priority, m, j] : order) {
      if (!out[m].empty()) continue;
      const ActiveJob& one = state.jobs[m];
      const auto type = static_cast<int32_t>(j);
      // The same nodes as before, if they are free: a job that stays need not be restarted.
      if (!one.now->empty() && one.now->type == type && free.fits(*one.job, *one.now)) {
        out[m] = *one.now;
        free.take(*one.job, *one.now);
      } else if (!place_on_freest(*one.job, one.job->gang, free, out[m], type)) {
        continue;
      }
      received_[{m, j}] += 1;
    }
    rounds_ += 1;
    return out;
  }

  GavelGoal goal_;
  std::vector<size_t> jobs_;
  std::vector<double> devices_;  // that are up, by type
  std::vector<std::vector<double>> shares_;
  std::map<std::pair<size_t, size_t>, double> received_;  // rounds, by position and type
  double rounds_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_gavel(GavelGoal goal) {
  return std::make_unique<GavelPolicy>(goal);
}

}  // namespace trainyard::schedule
