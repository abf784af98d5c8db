#include "train/replicas.h"

#include <algorithm>
#include <cstring>
#include <sched.h>

#include "base/error.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::train {
namespace {

// One worker has nothing to sum, so any algorithm will do.
const dist::AllReduce& usable(std::string_view name, const dist::Collectives& collectives) {
  const dist::AllReduce& algorithm = dist::find_all_reduce(name);
  const dist::ReduceContext& context = collectives.context();
  TY_REQUIRE(
      context.comm.size() == 1 || algorithm.available == nullptr || algorithm.available(context),
      "all-reduce '{}' cannot run here: {}; try auto", name, algorithm.summary);
  return algorithm;
}

}  // namespace

Replicas::Replicas(dist::Communicator& comm, const ReplicaOptions& options)
    : collectives_(comm), algorithm_(usable(options.all_reduce, collectives_)), options_(options) {
  if (options_.stall_warning_s > 0) {
    comm.on_late([this](int64_t rank, double seconds) { report_late(rank, seconds); });
  }
  if (workers() > 1 && options_.overlap) {
    comm.set_computes(true);
    thread_ = std::thread([this] { work(); });
  }
}

Replicas::~Replicas() {
  bool busy = false;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    busy = !tasks_.empty();
  }
  changed_.notify_all();
  // With work left, this rank has failed; the others will notice.
  if (busy) collectives_.comm().give_up();
  if (thread_.joinable()) thread_.join();
  collectives_.comm().on_late(nullptr);
  collectives_.comm().set_computes(false);
}

// --- sums

int64_t Replicas::enqueue(std::string what, dist::Elements data) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back({std::move(what), data, ++enqueued_});
  }
  changed_.notify_all();
  return enqueued_;
}

void Replicas::carry_out(const Task& task) {
  const Stopwatch watch;
  current_ = task;
  warned_s_ = 0;
  told_ = false;
  collectives_.all_reduce(task.data, algorithm_);
  const std::lock_guard lock(mutex_);
  times_.communication_s += watch.seconds();
}

void Replicas::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
    if (stopping_) return;
    const Task task = tasks_.front();
    lock.unlock();
    std::exception_ptr problem;
    try {
      carry_out(task);
    } catch (...) {
      problem = std::current_exception();
    }
    lock.lock();
    tasks_.pop_front();
    if (problem) {
      problem_ = problem;
      changed_.notify_all();
      return;
    }
    finished_ = task.number;
    changed_.notify_all();
  }
}

// Returns once this task and all before it are done.
void Replicas::finish(int64_t number) {
  const Stopwatch watch;
  std::unique_lock lock(mutex_);
  if (thread_.joinable() && finished_ < number) {
    collectives_.comm().set_computes(false);
    changed_.wait(lock, [&] { return problem_ || finished_ >= number; });
    collectives_.comm().set_computes(true);
    if (finished_ < number) std::rethrow_exception(problem_);
  }
  while (finished_ < number) {
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    carry_out(task);
    lock.lock();
    finished_ = task.number;
  }
  times_.exposed_s += watch.seconds();
}

void Replicas::start(int64_t bucket, std::span<float> values) {
  if (silent_) return;
  const auto at = static_cast<size_t>(bucket);
  if (bucket_tasks_.size() <= at) bucket_tasks_.resize(at + 1, 0);
  const std::string name =
      at < bucket_names_.size() ? bucket_names_[at] : fmt::format("bucket {}", bucket);
  bucket_tasks_[at] = enqueue(name, dist::Elements::of(values));
}

void Replicas::wait(int64_t bucket) {
  if (!silent_) finish(bucket_tasks_.at(static_cast<size_t>(bucket)));
}

void Replicas::sum(std::span<double> values) {
  if (workers() == 1) return;
  finish(enqueue("sums", dist::Elements::of(values)));
}

ExchangeTimes Replicas::take_times() {
  const std::lock_guard lock(mutex_);
  return std::exchange(times_, {});
}

void Replicas::report_late(int64_t rank, double seconds) {
  dist::Communicator& comm = collectives_.comm();
  // Early enough that all have heard it when the first of them warns.
  if (!told_ && seconds >= options_.stall_warning_s / 2) {
    comm.tell_waiting(current_.number);
    told_ = true;
  }
  if (!warn_ || seconds < warned_s_ + options_.stall_warning_s) return;
  warned_s_ = seconds;
  const std::optional<int64_t> stopped = comm.find_stopped();
  const int64_t late = stopped ? *stopped : comm.find_late(rank);
  const std::string condition = comm.condition(late);
  warn_(fmt::format("rank {} has waited {:.0f} s for rank {}{} at: {}", this->rank(), seconds, late,
                    condition.empty() ? "" : " (" + condition + ")", current_.what));
}

// --- the start

void Replicas::broadcast(std::span<std::byte> bytes) {
  if (workers() == 1) return;
  // A broadcast counts in elements.
  std::vector<float> padded((bytes.size() + sizeof(float) - 1) / sizeof(float));
  std::memcpy(padded.data(), bytes.data(), bytes.size());
  collectives_.broadcast(dist::Elements::of(padded), 0);
  std::memcpy(bytes.data(), padded.data(), bytes.size());
}

void Replicas::require_same(std::span<const std::string> facts) {
  if (workers() == 1) return;
  std::string mine;
  for (const std::string& fact : facts) mine += fact + '\n';
  const std::vector<std::string> first = split(collectives_.comm().share_text(mine), '\n');
  const std::vector<std::string> own = split(mine, '\n');
  for (size_t i = 0; i < std::max(first.size(), own.size()); ++i) {
    const auto line = [&](const std::vector<std::string>& lines) {
      return i < lines.size() && !lines[i].empty() ? lines[i] : "nothing";
    };
    TY_REQUIRE(line(first) == line(own),
               "rank {} has '{}', but rank 0 has '{}'; all workers must train the same", rank(),
               line(own), line(first));
  }
  collectives_.comm().barrier();
}

int Replicas::fair_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int cores = kernels::available_cores();
  if (workers() == 1 || sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  const std::string_view bits(reinterpret_cast<const char*>(&set), sizeof set);
  // Whole numbers up to 2^53 are exact in a double.
  const auto name = static_cast<double>(hash_text(bits) >> 11);
  const std::vector<double> names = collectives_.all_gather(name);
  int sharers = 0;
  for (const int64_t member : collectives_.comm().host_members()) {
    if (names[static_cast<size_t>(member)] == name) ++sharers;
  }
  return std::max(1, cores / sharers);
}

}  // namespace trainyard::train
