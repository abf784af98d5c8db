#include "schedule/simulator/simulate.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "schedule/simulator/checks.h"

namespace trainyard::schedule {
namespace {

// Decisions in a row after which nothing runs though jobs wait and nothing else will happen.
constexpr int kIdleDecisions = 1000;
// Event times closer than this are one event.
constexpr double kSameTime = 1e-9;

struct Running {
  Allocation allocation;
  double delay = 0;     // seconds of the restart that are left
  double attained = 0;  // seconds with an allocation
  double since_checkpoint = 0;
  double work = 0;             // at the beginning
  double jobs_in_cluster = 0;  // times seconds, over its life
};

class Simulation {
 public:
  Simulation(const Cluster& cluster, std::vector<Job> jobs, Policy& policy,
             const SimulationOptions& options)
      : cluster_(cluster), jobs_(std::move(jobs)), policy_(policy), options_(options) {
    running_.resize(jobs_.size());
    result_.policy = policy.name();
    result_.jobs.resize(jobs_.size());
    for (size_t i = 0; i < jobs_.size(); ++i) {
      TY_CHECK(i == 0 || jobs_[i].arrival >= jobs_[i - 1].arrival, "jobs are not sorted");
      result_.jobs[i].id = jobs_[i].id;
      result_.jobs[i].model = jobs_[i].model;
      result_.jobs[i].arrival = jobs_[i].arrival;
      running_[i].work = jobs_[i].progress->remaining();
    }
    for (const NodeFailure& failure : options.failures) {
      node_events_.push_back({failure.at, failure.node, false});
      node_events_.push_back({failure.until, failure.node, true});
    }
    std::stable_sort(node_events_.begin(), node_events_.end(),
                     [](const NodeEvent& a, const NodeEvent& b) { return a.at < b.at; });
    capacity_ = cluster.total();
  }

  SimulationResult run() {
    while (arrived_ < jobs_.size() || !active_.empty()) {
      if (active_.empty()) skip_to_next_arrival();
      take_arrivals();
      apply_node_events();
      decide();
      advance_to(next_stop());
      forget_ended();
    }
    finish();
    return std::move(result_);
  }

 private:
  struct NodeEvent {
    double at;
    int32_t node;
    bool up;
  };

  bool by_interval() const { return options_.interval > 0; }

  void skip_to_next_arrival() {
    const double next = jobs_[arrived_].arrival;
    if (next <= now_) return;
    now_ =
        by_interval() ? std::ceil(next / options_.interval - kSameTime) * options_.interval : next;
  }

  void take_arrivals() {
    while (arrived_ < jobs_.size() && jobs_[arrived_].arrival <= now_ + kSameTime) {
      active_.push_back(arrived_++);
    }
  }

  void apply_node_events() {
    while (next_node_event_ < node_events_.size() &&
           node_events_[next_node_event_].at <= now_ + kSameTime) {
      const NodeEvent event = node_events_[next_node_event_++];
      cluster_.nodes[static_cast<size_t>(event.node)].up = event.up;
      if (event.up) continue;
      result_.failures += 1;
      for (const size_t i : active_) stop_if_on(event.node, i);
    }
  }

  void stop_if_on(int32_t node, size_t i) {
    const auto on_node = [&](const Shares& shares) {
      return std::any_of(shares.begin(), shares.end(),
                         [&](const Share& share) { return share.node == node; });
    };
    Running& one = running_[i];
    if (!on_node(one.allocation.worker_nodes) && !on_node(one.allocation.server_nodes)) return;
    jobs_[i].progress->lose(one.allocation, one.since_checkpoint);
    change(i, {});
  }

  double error_of(size_t i, double size, uint64_t which) const {
    if (size == 0) return 0;
    const bool up = (RandomStream(options_.seed, which).bits(i) & 1U) != 0;
    return (up ? size : -size) * (1 - jobs_[i].progress->done());
  }

  void decide() {
    ClusterState state{now_, &cluster_, {}};
    state.jobs.reserve(active_.size());
    for (const size_t i : active_) {
      state.jobs.push_back({.job = &jobs_[i],
                            .index = i,
                            .attained = running_[i].attained,
                            .speed_error = error_of(i, options_.speed_error, 1),
                            .work_error = error_of(i, options_.work_error, 2),
                            .started = result_.jobs[i].start >= 0,
                            .now = &running_[i].allocation});
    }
    const Stopwatch watch;
    std::vector<Allocation> allocations = policy_.decide(state);
    const double took = watch.seconds();
    result_.decisions += 1;
    result_.decision_seconds += took;
    result_.longest_decision = std::max(result_.longest_decision, took);
    TY_CHECK(allocations.size() == active_.size(), "{} answers", allocations.size());
    bool any = false;
    for (size_t a = 0; a < active_.size(); ++a) {
      any |= !allocations[a].empty();
      set_type(jobs_[active_[a]], allocations[a]);
      if (allocations[a] != running_[active_[a]].allocation) {
        change(active_[a], std::move(allocations[a]));
      }
    }
    idle_decisions_ = any ? 0 : idle_decisions_ + 1;
  }

  // A job on devices of several types goes at the pace of the slowest.
  void set_type(const Job& job, Allocation& allocation) const {
    if (cluster_.types.size() < 2 || allocation.empty()) return;
    double least = kNever;
    for (const Share& share : allocation.worker_nodes) {
      const int32_t type = cluster_.nodes[static_cast<size_t>(share.node)].type;
      const double speed = job.progress->speed(allocation.servers, allocation.workers, type);
      if (speed >= least) continue;
      least = speed;
      allocation.type = type;
    }
  }

  void change(size_t i, Allocation allocation) {
    JobResult& job = result_.jobs[i];
    Running& one = running_[i];
    close_span(i);
    if (allocation.empty()) {
      if (!one.allocation.empty()) job.preemptions += 1;
      one.delay = 0;
    } else {
      if (job.start < 0) {
        job.start = now_;
      } else {
        job.restarts += 1;
      }
      one.delay = options_.restart_seconds;
      job.spans.push_back({now_, now_, allocation.servers, allocation.workers});
    }
    one.since_checkpoint = 0;
    one.allocation = std::move(allocation);
  }

  void close_span(size_t i) {
    if (!running_[i].allocation.empty() && !result_.jobs[i].spans.empty()) {
      result_.jobs[i].spans.back().end = now_;
    }
  }

  double next_stop() {
    double next = kNever;
    if (next_node_event_ < node_events_.size()) next = node_events_[next_node_event_].at;
    if (by_interval()) {
      const double slot = std::floor(now_ / options_.interval + kSameTime) + 1;
      next = std::min(next, slot * options_.interval);
      if (idle_decisions_ > kIdleDecisions && next_node_event_ == node_events_.size() &&
          arrived_ == jobs_.size()) {
        fail_stuck();
      }
      return next;
    }
    if (arrived_ < jobs_.size()) next = std::min(next, jobs_[arrived_].arrival);
    next = std::min(next, std::max(policy_.wake_up(), now_ + kSameTime));
    for (const size_t i : active_) {
      const Running& one = running_[i];
      if (one.allocation.empty()) continue;
      const Progress& progress = *jobs_[i].progress;
      const double speed =
          progress.speed(one.allocation.servers, one.allocation.workers, one.allocation.type);
      if (speed > 0) next = std::min(next, now_ + one.delay + progress.remaining() / speed);
    }
    if (next == kNever) fail_stuck();
    return next;
  }

  [[noreturn]] void fail_stuck() const {
    const Job& job = jobs_[active_.front()];
    throw_error(
        "job {} can never run under {}: nothing else is running and it still gets no nodes; {} "
        "jobs "
        "wait. Make it smaller or the nodes larger",
        job.id, policy_.name(), active_.size());
  }

  void advance_to(double then) {
    const double seconds = std::max(0.0, then - now_);
    for (const size_t i : active_) {
      Running& one = running_[i];
      one.jobs_in_cluster += seconds * static_cast<double>(active_.size());
      if (one.allocation.empty()) continue;
      const double delay = std::min(one.delay, seconds);
      one.delay -= delay;
      const auto used = jobs_[i].progress->run(one.allocation, seconds - delay);
      const double held = used ? delay + *used : seconds;
      count(i, held, delay);
      if (used) end(i, now_ + held);
    }
    now_ = then;
  }

  void count(size_t i, double held, double delay) {
    Running& one = running_[i];
    one.attained += held;
    one.since_checkpoint =
        std::fmod(one.since_checkpoint + held - delay, std::max(1.0, options_.checkpoint_seconds));
    const Allocation& has = one.allocation;
    for (size_t r = 0; r < kNumResources; ++r) {
      held_[r] += held * (has.workers * jobs_[i].worker[r] + has.servers * jobs_[i].server[r]);
    }
    const double gpus = has.workers * jobs_[i].worker[static_cast<size_t>(Resource::kGpu)];
    result_.jobs[i].held_gpu_seconds += held * gpus;
    held_seconds_ += held * has.workers;
    lost_seconds_ += delay * has.workers;
  }

  void end(size_t i, double at) {
    JobResult& job = result_.jobs[i];
    job.end = at;
    if (!job.spans.empty()) job.spans.back().end = at;
    job.alone = seconds_alone(jobs_[i], running_[i].work, cluster_,
                              running_[i].jobs_in_cluster / std::max(1e-9, now_ - job.arrival));
    running_[i].allocation = {};
  }

  void forget_ended() {
    std::erase_if(active_, [&](size_t i) { return result_.jobs[i].end >= 0; });
  }

  void finish() {
    if (jobs_.empty()) return;
    double last = 0;
    for (const JobResult& job : result_.jobs) last = std::max(last, job.end);
    result_.makespan = last - jobs_.front().arrival;
    for (size_t r = 0; r < kNumResources; ++r) {
      const double all = capacity_[r] * result_.makespan;
      result_.utilisation[r] = all > 0 ? held_[r] / all : 0;
    }
    result_.restart_share = held_seconds_ > 0 ? lost_seconds_ / held_seconds_ : 0;
  }

  Cluster cluster_;
  std::vector<Job> jobs_;
  Policy& policy_;
  SimulationOptions options_;
  SimulationResult result_;
  std::vector<Running> running_;
  std::vector<size_t> active_;
  std::vector<NodeEvent> node_events_;
  Resources capacity_ = {};
  Resources held_ = {};
  double held_seconds_ = 0;
  double lost_seconds_ = 0;
  size_t arrived_ = 0;
  size_t next_node_event_ = 0;
  int idle_decisions_ = 0;
  double now_ = 0;
};

}  // namespace

SimulationResult simulate(const Cluster& cluster, std::vector<Job> jobs, Policy& policy,
                          const SimulationOptions& options) {
  check_simulation(cluster, jobs, options);
  for (Job& job : jobs) job.progress = job.progress->copy();
  return Simulation(cluster, std::move(jobs), policy, options).run();
}

}  // namespace trainyard::schedule
