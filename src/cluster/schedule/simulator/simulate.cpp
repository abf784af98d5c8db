#include "cluster/schedule/simulator/simulate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "base/stopwatch.h"

namespace trainyard::schedule {
namespace {

// How many tasks of a size the empty cluster holds; each size is counted once.
class SlotCounts {
 public:
  explicit SlotCounts(const Cluster& cluster) : cluster_(cluster) {}

  double of(const Resources& demand);
  void nodes_changed() { known_.clear(); }
  size_t types() const { return cluster_.types.size(); }

 private:
  const Cluster& cluster_;
  std::map<Resources, double> known_;
};

void check_job(SlotCounts& slots, const Job& job) {
  const int32_t workers = job.rigid ? job.gang : 1;
  const double room = slots.of(job.worker);
  TY_REQUIRE(room >= workers,
             "job {} can never run: it needs {} workers and the whole cluster holds {:g} of them",
             job.id, workers, room);
  TY_REQUIRE(!job.has_servers() || slots.of(job.server) >= 1,
             "job {} can never run: no node holds one of its parameter servers", job.id);
  double best = 0;
  for (int32_t type = 0; type < static_cast<int32_t>(slots.types()); ++type) {
    best = std::max(best, job.progress->speed(job.has_servers() ? 1 : 0, workers, type));
  }
  TY_REQUIRE(best > 0 && std::isfinite(best), "job {} can never end: its speed is {:g}", job.id,
             best);
}

// See docs/limits.md.
constexpr double kLongestInterval = 365 * 86'400.0;  // seconds
constexpr double kLongestRestart = 86'400;

// Throws Error for a cluster without nodes, a job that fits no arrangement of the empty cluster, a
// job that makes no progress, failures of nodes that are not there, numbers below 0.
void check_simulation(const Cluster& cluster, std::span<const Job> jobs,
                      const SimulationOptions& options) {
  TY_REQUIRE(!cluster.nodes.empty(), "the cluster has no nodes");
  // Shorter ones would make a simulated month take hours.
  TY_REQUIRE(
      options.interval == 0 || (options.interval >= 1 && options.interval <= kLongestInterval),
      "the interval is {:g} s, expected 0 (decisions at arrivals and ends), or 1 s to {:g} s",
      options.interval, kLongestInterval);
  TY_REQUIRE(options.restart_seconds >= 0 && options.restart_seconds <= kLongestRestart,
             "a restart takes {:g} s, expected 0 to {:g} s", options.restart_seconds,
             kLongestRestart);
  TY_REQUIRE(options.speed_error >= 0 && options.speed_error < 1 && options.work_error >= 0 &&
                 options.work_error < 1,
             "errors of estimates are {:g} and {:g}, expected shares from 0 to below 1",
             options.speed_error, options.work_error);
  for (const NodeFailure& failure : options.failures) {
    TY_REQUIRE(failure.node >= 0 && static_cast<size_t>(failure.node) < cluster.nodes.size(),
               "a failure of node {}, but there are {} nodes", failure.node, cluster.nodes.size());
    TY_REQUIRE(failure.until > failure.at, "node {} fails at {:g} s and is back at {:g} s",
               failure.node, failure.at, failure.until);
  }
  SlotCounts slots(cluster);
  for (const Job& job : jobs) check_job(slots, job);
}

double SlotCounts::of(const Resources& demand) {
  const auto [found, fresh] = known_.try_emplace(demand, 0);
  if (fresh) {
    const FreeNodes free(cluster_);
    for (size_t node = 0; node < free.size(); ++node) found->second += free.room(node, demand);
  }
  return found->second;
}

// Seconds for `work` with 1/`contention` of the cluster to itself (finish-time fairness, Themis,
// NSDI 2020); a gang with less than it needs takes turns.
double seconds_alone(const Job& job, double work, SlotCounts& slots, double contention) {
  const double part = std::max(1e-6, slots.of(job.worker) / std::max(1.0, contention));
  double best = 0;
  for (int32_t type = 0; type < static_cast<int32_t>(slots.types()); ++type) {
    if (job.rigid) {
      const double turns = std::min(1.0, part / job.gang);
      best = std::max(
          best, turns * job.progress->speed(job.has_servers() ? job.gang : 0, job.gang, type));
      continue;
    }
    const auto most = std::clamp(static_cast<int32_t>(part), 1, job.most_workers);
    for (int32_t w = 1; w <= most; ++w) {
      const int32_t p = job.has_servers() ? std::min(w, job.most_servers) : 0;
      best = std::max(best, job.progress->speed(p, w, type) * std::min(1.0, part));
    }
  }
  return best > 0 ? work / best : 0;
}

// Decisions in a row after which nothing runs though jobs wait and nothing else will happen.
constexpr int kIdleDecisions = 1000;
// Event times closer than this are one event.
constexpr double kSameTime = 1e-9;

struct Running {
  Allocation allocation;
  double delay = 0;     // seconds of the restart that are left
  double attained = 0;  // seconds with an allocation
  double since_checkpoint = 0;
  double work = 0;         // at the beginning
  double began = 0;        // when the cluster took it up
  double load_before = 0;  // Simulation::load_ by then
  // Nobody looks at it while it runs and its end is known: it is brought up to date when something
  // happens to it, not at every event.
  bool lazy = false;
  double updated = 0;  // the time that all of this, and its progress, is of
  double end_at = 0;   // of a lazy one that runs
};

class Simulation {
 public:
  Simulation(const Cluster& cluster, std::vector<Job> jobs, Policy& policy,
             const SimulationOptions& options)
      : cluster_(cluster),
        slots_(cluster_),
        jobs_(std::move(jobs)),
        policy_(policy),
        options_(options),
        state_{0, &cluster_, {}, &free_},
        free_(cluster_) {
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
    while (arrived_ < jobs_.size() || !state_.jobs.empty()) {
      if (state_.jobs.empty()) skip_to_next_arrival();
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
      const size_t i = arrived_++;
      Running& one = running_[i];
      one.began = one.updated = now_;
      one.load_before = load_;
      one.lazy = jobs_[i].progress->steady() && !policy_.watches(jobs_[i]) &&
                 options_.speed_error == 0 && options_.work_error == 0;
      if (!one.lazy) eager_ += 1;
      state_.jobs.push_back({.job = &jobs_[i], .index = i, .now = &one.allocation});
    }
  }

  void apply_node_events() {
    const size_t first = next_node_event_;
    while (next_node_event_ < node_events_.size() &&
           node_events_[next_node_event_].at <= now_ + kSameTime) {
      const NodeEvent event = node_events_[next_node_event_++];
      cluster_.nodes[static_cast<size_t>(event.node)].up = event.up;
      slots_.nodes_changed();
      if (event.up) continue;
      result_.failures += 1;
      for (ActiveJob& job : state_.jobs) stop_if_on(event.node, job);
      forget_ended();
    }
    if (next_node_event_ == first) return;
    free_ = FreeNodes(cluster_);
    for (const ActiveJob& job : state_.jobs) free_.take(*job.job, *job.now);
  }

  void stop_if_on(int32_t node, ActiveJob& job) {
    const auto on_node = [&](const Shares& shares) {
      return std::any_of(shares.begin(), shares.end(),
                         [&](const Share& share) { return share.node == node; });
    };
    Running& one = running_[job.index];
    if (!on_node(one.allocation.worker_nodes) && !on_node(one.allocation.server_nodes)) return;
    if (one.lazy) bring_up_to(now_, job.index);
    if (one.allocation.empty()) return;  // it ended at this very moment
    jobs_[job.index].progress->lose(one.allocation, one.since_checkpoint);
    change(job, {});
  }

  double error_of(size_t i, double size, uint64_t which) const {
    if (size == 0) return 0;
    const bool up = (RandomStream(options_.seed, which).bits(i) & 1U) != 0;
    return (up ? size : -size) * (1 - jobs_[i].progress->done());
  }

  void decide() {
    state_.now = now_;
    if (eager_ > 0) {
      for (ActiveJob& job : state_.jobs) {
        if (running_[job.index].lazy) continue;
        job.attained = running_[job.index].attained;
        job.speed_error = error_of(job.index, options_.speed_error, 1);
        job.work_error = error_of(job.index, options_.work_error, 2);
      }
    }
    const Stopwatch watch;
    std::vector<Change> changes = policy_.decide(state_);
    const double took = watch.seconds();
    result_.decisions += 1;
    result_.decision_seconds += took;
    result_.longest_decision = std::max(result_.longest_decision, took);
    for (Change& one : changes) {
      ActiveJob& job = state_.jobs.at(one.position);
      set_type(*job.job, one.allocation);
      if (one.allocation != *job.now) change(job, std::move(one.allocation));
    }
    idle_decisions_ = holding_ > 0 ? 0 : idle_decisions_ + 1;
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

  void change(ActiveJob& active, Allocation allocation) {
    const size_t i = active.index;
    JobResult& job = result_.jobs[i];
    Running& one = running_[i];
    if (one.lazy) bring_up_to(now_, i);
    if (job.end >= 0) return;
    close_span(i);
    holding_ += (allocation.empty() ? 0 : 1) - (one.allocation.empty() ? 0 : 1);
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
    free_.give_back(jobs_[i], one.allocation);
    free_.take(jobs_[i], allocation);
    one.allocation = std::move(allocation);
    active.attained = one.attained;
    active.started = job.start >= 0;
    if (one.lazy && !one.allocation.empty()) {
      one.end_at = expected_end(i);
      ends_.emplace(one.end_at, i);
    }
  }

  // Of a job that runs.
  double expected_end(size_t i) const {
    const Running& one = running_[i];
    const Progress& progress = *jobs_[i].progress;
    const double speed =
        progress.speed(one.allocation.servers, one.allocation.workers, one.allocation.type);
    return speed > 0 ? one.updated + one.delay + progress.remaining() / speed : kNever;
  }

  // The next end of a lazy job; entries of what jobs held before are dropped.
  double next_lazy_end() {
    while (!ends_.empty()) {
      const auto [at, i] = ends_.top();
      if (!running_[i].allocation.empty() && running_[i].end_at == at) return at;
      ends_.pop();
    }
    return kNever;
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
    next = std::min(next, next_lazy_end());
    if (eager_ > 0) {
      for (const ActiveJob& job : state_.jobs) {
        if (!running_[job.index].lazy && !job.now->empty()) {
          next = std::min(next, expected_end(job.index));
        }
      }
    }
    if (next == kNever) fail_stuck();
    return next;
  }

  [[noreturn]] void fail_stuck() const {
    const Job& job = *state_.jobs.front().job;
    throw_error(
        "job {} can never run under {}: nothing else is running and it still gets no nodes; {} "
        "jobs "
        "wait. Make it smaller or the nodes larger",
        job.id, policy_.name(), state_.jobs.size());
  }

  void advance_to(double then) {
    if (eager_ > 0) {
      for (const ActiveJob& job : state_.jobs) {
        if (!running_[job.index].lazy) bring_up_to(then, job.index);
      }
    }
    while (next_lazy_end() <= then + kSameTime) {
      const auto [at, i] = ends_.top();
      ends_.pop();
      bring_up_to(std::max(then, at), i);
      // By rounding it may be short of its end.
      if (!running_[i].allocation.empty()) end(i, at);
    }
    load_ += std::max(0.0, then - now_) * static_cast<double>(state_.jobs.size());
    now_ = then;
  }

  // What happened to a job until `then`; it may have ended.
  void bring_up_to(double then, size_t i) {
    Running& one = running_[i];
    const double before = std::exchange(one.updated, then);
    if (one.allocation.empty()) return;
    const double seconds = std::max(0.0, then - before);
    const double delay = std::min(one.delay, seconds);
    one.delay -= delay;
    const auto used = jobs_[i].progress->run(one.allocation, seconds - delay);
    const double held = used ? delay + *used : seconds;
    count(i, held, delay);
    if (used) end(i, before + held);
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
    // How many jobs there were, on average, while it was there.
    const Running& one = running_[i];
    const double load = load_ + (at - now_) * static_cast<double>(state_.jobs.size());
    const double seconds = at - one.began;
    job.alone = seconds_alone(jobs_[i], one.work, slots_,
                              seconds > 0 ? (load - one.load_before) / seconds : 1);
    free_.give_back(jobs_[i], one.allocation);
    running_[i].allocation = {};
    holding_ -= 1;
    if (!one.lazy) eager_ -= 1;
    ended_ += 1;
  }

  void forget_ended() {
    if (std::exchange(ended_, 0) == 0) return;
    std::erase_if(state_.jobs,
                  [&](const ActiveJob& job) { return result_.jobs[job.index].end >= 0; });
  }

  void finish() {
    if (jobs_.empty()) return;
    double last = 0;
    for (const JobResult& job : result_.jobs) last = std::max(last, job.end);
    result_.makespan = last - jobs_.front().arrival;
    for (size_t r = 0; r < kNumResources; ++r) {
      const double all = capacity_[r] * result_.makespan;
      result_.utilization[r] = all > 0 ? held_[r] / all : 0;
    }
    result_.restart_share = held_seconds_ > 0 ? lost_seconds_ / held_seconds_ : 0;
  }

  Cluster cluster_;
  SlotCounts slots_;
  std::vector<Job> jobs_;
  Policy& policy_;
  SimulationOptions options_;
  SimulationResult result_;
  std::vector<Running> running_;
  ClusterState state_;   // the jobs that have arrived and not ended
  FreeNodes free_;       // beside what they hold
  size_t eager_ = 0;     // how many of them are not lazy
  size_t ended_ = 0;     // and how many ended in the last step
  int64_t holding_ = 0;  // and how many hold an allocation
  using End = std::pair<double, size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;  // of lazy jobs, perhaps old
  double load_ = 0;  // jobs in the cluster times seconds, until now_
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
