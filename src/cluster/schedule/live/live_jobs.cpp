#include "cluster/schedule/live/live_jobs.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/child_process.h"
#include "base/error.h"
#include "base/file.h"
#include "base/parse_number.h"
#include "base/printable.h"
#include "base/shell.h"
#include "base/stopwatch.h"
#include "base/yaml.h"
#include "cluster/schedule/simulator/job.h"
#include "runs/metrics.h"
#include "runs/run_directory.h"

namespace trainyard::schedule {
namespace {

// Work in epochs. Speeds are measured where the job has run with so many workers; elsewhere they
// follow from the nearest measured number, each further worker adding 70 % of the first.
class LiveProgress : public Progress {
 public:
  LiveProgress(std::filesystem::path run, double epochs) : run_(std::move(run)), epochs_(epochs) {}

  // Looks at metrics.jsonl. `workers` is what it runs with now (0: it does not).
  void look(int32_t workers);
  bool ended() const { return done_ >= epochs_; }

  std::shared_ptr<Progress> copy() const override { return std::make_shared<LiveProgress>(*this); }
  double remaining() const override { return epochs_ > done_ ? epochs_ - done_ : 0; }
  double done() const override { return done_ / epochs_; }
  double speed(int32_t servers, int32_t workers, int32_t type) const override;
  // It runs by itself.
  std::optional<double> run(const Allocation&, double) override { return std::nullopt; }
  void lose(const Allocation&, double) override {}

 private:
  std::filesystem::path run_;
  double epochs_;
  double done_ = 0;
  std::map<int32_t, double> measured_;  // epochs/s by workers
};

constexpr double kFurtherWorker = 0.7;
// Before anything was measured all jobs are alike.
constexpr double kUnknownSpeed = 1.0 / 30;

double with_workers(int32_t workers) {
  return 1 + kFurtherWorker * (workers - 1);
}

void LiveProgress::look(int32_t workers) {
  if (!std::filesystem::exists(run_ / "metrics.jsonl")) return;
  double epochs = 0;
  double steps_per_epoch = 0;
  double step = 0;
  std::vector<double> times;
  for (const Json& line : runs::read_metrics(run_ / "metrics.jsonl")) {
    step = line.at("step").as_number();
    if (const Json* ms = line.find("step_ms"); ms != nullptr && ms->is_number()) {
      times.push_back(ms->as_number() / 1e3);
    }
    if (line.find("train_loss") == nullptr) continue;
    epochs = line.at("epoch").as_number();
    steps_per_epoch = step / epochs;
  }
  done_ = steps_per_epoch > 0 ? std::max(epochs, step / steps_per_epoch) : 0;
  if (workers == 0 || steps_per_epoch == 0 || times.empty()) return;
  // Single steps say little on a machine that does other things too.
  const size_t last = std::min<size_t>(times.size(), 50);
  const double mean =
      std::accumulate(times.end() - static_cast<std::ptrdiff_t>(last), times.end(), 0.0) /
      static_cast<double>(last);
  double& known = measured_[workers];
  const double now = 1 / (mean * steps_per_epoch);
  known = known > 0 ? (known + now) / 2 : now;
}

double LiveProgress::speed(int32_t, int32_t workers, int32_t) const {
  if (workers < 1) return 0;
  if (measured_.empty()) return kUnknownSpeed * with_workers(workers);
  auto near = measured_.lower_bound(workers);
  if (near == measured_.end()) --near;
  return near->second * with_workers(workers) / with_workers(near->first);
}

constexpr double kClearlyFaster = 1.2;
constexpr double kLongestWait = 1e7;  // seconds
constexpr auto kLook = std::chrono::milliseconds(200);

class LiveRun {
 public:
  LiveRun(const LivePlan& plan, Policy& policy, const LiveOptions& options)
      : plan_(plan),
        policy_(policy),
        options_(options),
        journal_(prepare(options.folder) / "journal.jsonl") {
    cluster_ = Cluster::uniform(1, {static_cast<double>(options.slots), 0, 0, 0});
    result_.policy = policy.name();
    for (const LiveJob& one : plan.jobs) {
      Job job;
      job.id = one.id;
      job.arrival = one.arrival;
      job.worker = {1, 0, 0, 0};
      job.most_workers = std::min(one.most_workers, options.slots);
      job.gang = job.most_workers;
      auto progress = std::make_shared<LiveProgress>(options.folder / one.id, one.epochs);
      progress_.push_back(progress);
      job.progress = std::move(progress);
      jobs_.push_back(std::move(job));
      result_.jobs.push_back({.id = one.id, .model = one.id, .arrival = one.arrival, .spans = {}});
    }
    held_.resize(jobs_.size());
    children_.resize(jobs_.size());
    read_journal();
  }

  SimulationResult run() {
    while (!all_ended()) {
      if (options_.should_stop && options_.should_stop()) {
        stop_all();
        throw_failure("stopped; the same command goes on from {}",
                      (options_.folder / "journal.jsonl").string());
      }
      collect();
      decide();
      wait();
    }
    double first = result_.jobs.front().arrival;
    for (const JobResult& job : result_.jobs) {
      first = std::min(first, job.arrival);
      result_.makespan = std::max(result_.makespan, job.end);
    }
    result_.makespan -= first;
    return result_;
  }

 private:
  static const std::filesystem::path& prepare(const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    return folder;
  }

  double now() const { return before_ + watch_.seconds(); }
  bool all_ended() const {
    for (const JobResult& job : result_.jobs) {
      if (job.end < 0) return false;
    }
    return true;
  }

  void write(std::string_view event, size_t i, int32_t workers) {
    journal_.append(Json::object({{"time", now()},
                                  {"event", event},
                                  {"job", jobs_[i].id},
                                  {"workers", static_cast<int64_t>(workers)}})
                        .dump(-1) +
                    "\n");
    if (options_.note) {
      options_.note(fmt::format("{:7.1f} s  {:8} {} {}", now(), event, jobs_[i].id,
                                workers > 0 ? fmt::format("with {} workers", workers) : ""));
    }
  }

  // What ended stays ended; what ran when the scheduler was killed is started again.
  void read_journal() {
    const std::string text = read_file(options_.folder / "journal.jsonl");
    size_t begin = 0;
    for (size_t end = text.find('\n'); end != std::string::npos;
         begin = end + 1, end = text.find('\n', begin)) {
      const Json line = Json::parse(text.substr(begin, end - begin), "journal.jsonl");
      before_ = line.at("time").as_number();
      for (size_t i = 0; i < jobs_.size(); ++i) {
        if (jobs_[i].id != line.at("job").as_string()) continue;
        JobResult& job = result_.jobs[i];
        const std::string& event = line.at("event").as_string();
        if (event == "start" || event == "resume") {
          if (job.start < 0) job.start = before_;
          job.restarts += event == "resume";
        }
        if (event == "end") job.end = before_;
      }
    }
  }

  void collect() {
    for (size_t i = 0; i < jobs_.size(); ++i) {
      if (!children_[i] || children_[i]->read_some(output_, 0)) continue;
      const int code = children_[i]->wait();
      children_[i].reset();
      progress_[i]->look(held_[i].workers);
      close_span(i);
      held_[i] = {};
      // Whoever was told to stop may say so by its exit code.
      if (code != 0 && !stopping_ && !progress_[i]->ended()) {
        stop_all();
        throw_failure("job {} ended with exit code {}; its log is {}", jobs_[i].id, code,
                      log_of(i).string());
      }
      if (!progress_[i]->ended()) continue;
      result_.jobs[i].end = now();
      write("end", i, 0);
    }
  }

  void decide() {
    ClusterState state{now(), &cluster_, {}};
    std::vector<size_t> active;
    for (size_t i = 0; i < jobs_.size(); ++i) {
      if (result_.jobs[i].end >= 0 || jobs_[i].arrival > state.now) continue;
      progress_[i]->look(held_[i].workers);
      // A training that outlived a killed scheduler goes on, and may end, by itself.
      if (!children_[i] && progress_[i]->ended()) {
        result_.jobs[i].end = now();
        write("end", i, 0);
        continue;
      }
      active.push_back(i);
      state.jobs.push_back({.job = &jobs_[i], .index = i, .now = &held_[i]});
    }
    const Stopwatch watch;
    std::vector<Allocation> wanted;
    for (const size_t i : active) wanted.push_back(held_[i]);
    for (Change& change : policy_.decide(state)) {
      wanted[change.position] = std::move(change.allocation);
    }
    result_.decisions += 1;
    result_.decision_seconds += watch.seconds();
    if (active == active_ && !worth_it(active, wanted)) return;
    active_ = active;
    // First all that has to end, so that there is room for what begins.
    for (size_t a = 0; a < active.size(); ++a) {
      if (wanted[a].workers != held_[active[a]].workers) stop(active[a]);
    }
    for (size_t a = 0; a < active.size(); ++a) {
      const size_t i = active[a];
      if (wanted[a].workers > 0 && !children_[i] && result_.jobs[i].end < 0) start(i, wanted[a]);
    }
  }

  // While nobody comes or goes, a restart has to make some job clearly faster.
  bool worth_it(const std::vector<size_t>& active, const std::vector<Allocation>& wanted) const {
    for (size_t a = 0; a < active.size(); ++a) {
      const size_t i = active[a];
      const double now = progress_[i]->speed(0, held_[i].workers, 0);
      const double then = progress_[i]->speed(0, wanted[a].workers, 0);
      if (!children_[i] ? wanted[a].workers > 0 : then > kClearlyFaster * now) return true;
    }
    return false;
  }

  std::filesystem::path log_of(size_t i) const { return options_.folder / (jobs_[i].id + ".log"); }

  // Another process, of a scheduler that was killed, still works in the run's folder.
  bool is_held(size_t i) const {
    try {
      runs::RunDirectory::resume(options_.folder, (options_.folder / jobs_[i].id).string());
      return false;
    } catch (const Error&) {
      return true;
    }
  }

  void start(size_t i, const Allocation& allocation) {
    const bool resume = std::filesystem::exists(options_.folder / jobs_[i].id / "config.yaml");
    if (resume && is_held(i)) return;
    std::vector<std::string> words = {options_.program, "train",
                                      "--workers",      std::to_string(allocation.workers),
                                      "--threads",      "1",
                                      "--quiet",        "--json",
                                      "--runs-dir",     options_.folder.string()};
    if (resume) {
      words.insert(words.end(), {"--resume", (options_.folder / jobs_[i].id).string()});
    } else {
      words.insert(words.end(), {"--name", jobs_[i].id});
      words.insert(words.end(), plan_.jobs[i].train.begin(), plan_.jobs[i].train.end());
    }
    write(resume ? "resume" : "start", i, allocation.workers);
    JobResult& job = result_.jobs[i];
    if (job.start < 0) job.start = now();
    if (resume) job.restarts += 1;
    held_[i] = allocation;
    job.spans.push_back({now(), now(), 0, allocation.workers});
    children_[i] = std::make_unique<ChildProcess>(words, ChildOptions{.log = log_of(i)});
  }

  void stop(size_t i) {
    if (!children_[i]) return;
    write("stop", i, held_[i].workers);
    children_[i]->send(SIGTERM);
    while (children_[i]->read_some(output_, 100)) {
    }
    stopping_ = true;
    collect();
    stopping_ = false;
  }

  void stop_all() {
    for (auto& child : children_) {
      if (child) child->send(SIGTERM);
    }
    for (auto& child : children_) {
      if (child) child->wait();
      child.reset();
    }
  }

  void close_span(size_t i) {
    if (!result_.jobs[i].spans.empty()) result_.jobs[i].spans.back().end = now();
  }

  // Until the next decision, or until something ends or arrives.
  void wait() {
    const double until = now() + plan_.interval;
    while (now() < until && !all_ended()) {
      if (options_.should_stop && options_.should_stop()) return;
      for (size_t i = 0; i < jobs_.size(); ++i) {
        if (children_[i] && !children_[i]->read_some(output_, 0)) return;
      }
      std::this_thread::sleep_for(kLook);
    }
  }

  const LivePlan& plan_;
  Policy& policy_;
  const LiveOptions& options_;
  AppendFile journal_;
  Stopwatch watch_;
  double before_ = 0;  // seconds of earlier calls
  Cluster cluster_;
  std::vector<Job> jobs_;
  std::vector<std::shared_ptr<LiveProgress>> progress_;
  std::vector<Allocation> held_;
  std::vector<std::unique_ptr<ChildProcess>> children_;
  std::vector<size_t> active_;  // at the last change
  bool stopping_ = false;
  std::string output_;  // reports of the trainings, which nobody reads
  SimulationResult result_;
};

// What the arguments of a training say of its length. Fails for those that the scheduler gives
// itself.
double read_epochs(const YamlView& view, const std::vector<std::string>& words) {
  constexpr double kMostEpochs = 1e6;
  for (const std::string& word : words) {
    const std::string flag = word.substr(0, word.find('='));
    for (const char* own : {"--workers", "--threads", "--runs-dir", "--name", "--resume"}) {
      if (flag == own) view.fail(fmt::format("{} is for the scheduler to say", own));
    }
  }
  const auto found = std::find(words.begin(), words.end(), "--epochs");
  if (found == words.end() || found + 1 == words.end()) view.fail("`epochs` is missing");
  const std::string& text = *(found + 1);
  const auto epochs = parse_number<double>(text);
  if (!epochs || !(*epochs >= 1 && *epochs <= kMostEpochs)) {
    view.fail(fmt::format("`epochs` {}: expected 1 to {:g}", text, kMostEpochs));
  }
  return *epochs;
}

LiveJob read_live_job(const YamlView& view) {
  constexpr int64_t kMostWorkers = 1024;
  view.only({"id", "train", "arrival_s", "most_workers"});
  LiveJob job;
  job.id = view.at("id").text();
  if (job.id.empty() || job.id.find('/') != std::string::npos || job.id.starts_with('.') ||
      printable(job.id) != job.id) {
    view.at("id").fail("expected a name for a folder");
  }
  job.train = shell_words(view.at("train").text());
  job.epochs = read_epochs(view.at("train"), job.train);
  job.arrival = view.number_or("arrival_s", 0);
  if (!(job.arrival >= 0 && job.arrival <= kLongestWait)) {
    view.at("arrival_s").fail(fmt::format("expected 0 to {:g}", kLongestWait));
  }
  job.most_workers = static_cast<int32_t>(view.count_or("most_workers", 1, 1, kMostWorkers));
  return job;
}

}  // namespace

LivePlan read_live_plan(std::string_view text, const std::string& origin) {
  const auto document = YamlDocument::parse(text, origin);
  const YamlView root = document->root();
  root.only({"interval_s", "jobs"});
  LivePlan plan;
  plan.interval = root.number_or("interval_s", 10);
  if (!(plan.interval > 0 && plan.interval <= kLongestWait)) {
    root.at("interval_s").fail(fmt::format("expected more than 0, at most {:g}", kLongestWait));
  }
  std::set<std::string> ids;
  for (const YamlView& item : root.at("jobs").items()) {
    plan.jobs.push_back(read_live_job(item));
    if (!ids.insert(plan.jobs.back().id).second) item.at("id").fail("another job has this id");
  }
  TY_REQUIRE(!plan.jobs.empty(), "{}: no jobs", origin);
  std::stable_sort(plan.jobs.begin(), plan.jobs.end(),
                   [](const LiveJob& a, const LiveJob& b) { return a.arrival < b.arrival; });
  return plan;
}

SimulationResult run_live(const LivePlan& plan, Policy& policy, const LiveOptions& options) {
  TY_REQUIRE(options.slots >= 1, "{} slots, expected 1 or more", options.slots);
  return LiveRun(plan, policy, options).run();
}

}  // namespace trainyard::schedule
