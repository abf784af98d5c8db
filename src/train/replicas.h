// The workers of a data-parallel run: every one has a replica of the network, and this is what they
// exchange.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "dist/collectives.h"
#include "engine/kernels/parallel/exchange.h"

namespace trainyard::train {

struct ReplicaOptions {
  std::string all_reduce = "auto";
  // Sums are made by a thread of their own while backward runs; otherwise at the wait for them.
  bool overlap = true;
  // A rank that is later than this is reported, and again each time it passes; 0: never.
  double stall_warning_s = 0;
};

// Since the last call of take_times().
struct ExchangeTimes {
  double communication_s = 0;  // sums under way, waits for slower workers included
  double exposed_s = 0;        // of these, how long the worker had nothing else to do
};

// One per rank, made and used by all ranks in the same order, by one thread. Of a job of one rank
// it does nothing. Throws Failure, naming the rank, if another one does not come.
class Replicas final : public kernels::Exchange {
 public:
  // The communicator must outlive it. Throws Error for an unknown all-reduce and one that cannot
  // run here.
  Replicas(dist::Communicator& comm, const ReplicaOptions& options);
  ~Replicas() override;
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  int64_t rank() const { return collectives_.comm().rank(); }
  int64_t workers() const { return collectives_.comm().size(); }
  bool leads() const { return rank() == 0; }

  std::span<std::byte> allocate(int64_t bytes) override { return collectives_.allocate(bytes); }
  void start(int64_t bucket, std::span<float> values) override;
  void wait(int64_t bucket) override;
  void sum(std::span<double> values) override;

  // While silent, start() and wait() do nothing: every worker steps by its own gradients.
  void set_silent(bool silent) { silent_ = silent; }

  // Rank 0's bytes to all, which have as many.
  void broadcast(std::span<std::byte> bytes);
  // Throws Error with the first of these lines that differs from rank 0's.
  void require_same(std::span<const std::string> facts);
  // The cores that this process may use, shared with the other ranks that may use the same.
  int fair_threads();
  // Gets warnings from now on, from whichever thread waits. To be called while nothing is under
  // way.
  void set_warn(std::function<void(const std::string&)> warn) { warn_ = std::move(warn); }
  // Says in warnings what a bucket holds.
  void name_buckets(std::vector<std::string> names) { bucket_names_ = std::move(names); }

  ExchangeTimes take_times();

 private:
  struct Task {
    std::string what;  // for people
    dist::Elements data;
    int64_t number = 0;
  };

  int64_t enqueue(std::string what, dist::Elements data);
  void finish(int64_t number);
  void carry_out(const Task& task);
  void work();
  void report_late(int64_t rank, double seconds);

  dist::Collectives collectives_;
  const dist::AllReduce& algorithm_;
  ReplicaOptions options_;
  bool silent_ = false;
  std::vector<std::string> bucket_names_;
  std::vector<int64_t> bucket_tasks_;  // the number of the last task of each bucket

  // Tasks are numbered from 1 and carried out in that order. Guarded by the mutex; the worker holds
  // the front of the queue while it works on it.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  int64_t enqueued_ = 0;
  int64_t finished_ = 0;
  bool stopping_ = false;
  std::exception_ptr problem_;
  ExchangeTimes times_;

  // Only used by the thread that carries out a task.
  std::function<void(const std::string&)> warn_;
  Task current_;
  double warned_s_ = 0;
  bool told_ = false;  // that this rank waits

  std::thread thread_;  // last, so that it sees everything else made
};

}  // namespace trainyard::train
