// One version of a model that is being served: its network, its queue, its workers.
#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "serve/models/model_config.h"
#include "serve/scheduling/compute_gate.h"
#include "serve/scheduling/job.h"
#include "serve/scheduling/job_queue.h"
#include "serve/scheduling/ordered_answers.h"
#include "serve/scheduling/response_cache.h"
#include "serve/scheduling/slow_work.h"
#include "serve/scheduling/statistics.h"

namespace trainyard::serve {

class Instance {
 public:
  // Rows are computed in these sizes, ascending; run() needs 1 among them.
  Instance(Network& network, CompiledForm form, std::vector<int64_t> sizes)
      : network_(network), form_(form), sizes_(std::move(sizes)) {}

  // Computes the jobs together; they differ in their rows alone, and there is one if the network
  // has no batch. Fills `times` of each; one result per job. Throws Error for bad data, which then
  // holds for all of them.
  std::vector<InferResult> run(std::span<Job* const> jobs);

  // Compiles and runs every size so many times, on zeros. Throws Failure once `ending` says so;
  // null: nobody does.
  void warm_up(int64_t count, const std::atomic<bool>* ending);
  // Of intermediate results.
  int64_t arena_bytes() const { return arena_.empty() ? 0 : arena_.num_bytes(); }

  // How many rows a second the largest size gives, at best; of a network without open dimensions.
  double rows_per_second();

  // Gives the memory of inputs and intermediate results back to the system; the next run gets it
  // anew.
  void rest();

 private:
  struct Entry {
    Shapes shapes;
    std::unique_ptr<runtime::ExecutionContext> context;
  };
  runtime::ExecutionContext& context(const Shapes& shapes);
  std::vector<InferResult> run_alone(Job& job);
  std::vector<InferResult> run_rows(std::span<Job* const> jobs, int64_t rows);

  Network& network_;
  CompiledForm form_;
  std::vector<int64_t> sizes_;
  Tensor arena_;               // of all contexts made since it last had to grow
  std::list<Entry> contexts_;  // the last one used first
};

// What all models share; outlives them.
struct Shared {
  ComputeGate& gate;
  ResponseCache* cache = nullptr;             // null: none
  PictureWork* side = nullptr;                // decodes pictures; null: who computes does
  const std::atomic<bool>* ending = nullptr;  // loading is given up; null: never
};

class ModelVersion {
 public:
  // Compiles, warms up and starts the workers. Throws Error or Failure saying why it cannot be
  // served.
  ModelVersion(ModelConfig config, int64_t version, NetworkSource source, Shared shared);
  ~ModelVersion();
  ModelVersion(const ModelVersion&) = delete;
  ModelVersion& operator=(const ModelVersion&) = delete;

  const std::string& name() const { return config_.name; }
  const std::string& version() const { return version_; }
  const ModelConfig& config() const { return config_; }
  const Network& network() const { return network_; }
  Statistics& statistics() { return statistics_; }
  int64_t waiting() const { return queue_.size(); }
  // Of weights and intermediate results, as far as the engine counts them.
  int64_t memory_bytes() const { return memory_bytes_; }
  // With as many requests as cores, each core computes one of them: as measured, not slower than
  // batches on all cores, and no thread waits for another.
  bool spreads() const { return wide_ != nullptr; }

  // False if the version is being unloaded: request and done are then as they were. Throws
  // RequestError for a request that does not fit, and kUnavailable if the queue is full. Otherwise
  // `done` is called, from a worker or from here. Where waking a worker would take about as long
  // as computing, `left_to_caller` is set, if it is given: who then calls compute_waiting() soon.
  bool infer(InferRequest& request, InferDone& done, bool* left_to_caller = nullptr);
  // Computes one batch of what waits, for at most about a millisecond; wakes a worker if another
  // model has the cores. Does not throw.
  void compute_waiting();

  // Takes no more requests, computes those that wait until `until`, refuses the rest, ends the
  // workers. Not to be called by a worker.
  void shut_down(Clock::time_point until);

 private:
  // An instance, and since when it has nothing to do.
  struct Lane {
    Lane(Network& network, CompiledForm form, std::vector<int64_t> sizes)
        : instance(network, form, std::move(sizes)) {}
    Instance instance;
    std::mutex busy;
    Clock::time_point last_used = Clock::now();  // under `busy`
    bool rests = false;
  };
  using Lanes = std::vector<std::unique_ptr<Lane>>;
  // The thread of a lane.
  struct Worker {
    std::unique_ptr<Lane> lane;
    std::thread thread;
  };

  std::unique_ptr<Lane> warm_lane(CompiledForm form, std::vector<int64_t> sizes);
  Lanes batch_lanes();
  // All computing at the same time.
  static double rows_per_second_of_all(const Lanes& lanes);
  // One for each core, if that is worth it, and wide_; else none.
  Lanes spread_lanes();
  void start_workers(Lanes lanes);
  void set_times(Job& job) const;
  // As infer(). Pictures are decoded first, and then wait with the rest.
  bool push(JobPointer job, InferRequest& request, InferDone& done, bool* left_to_caller);
  bool decode_first(JobPointer job, InferRequest& request, InferDone& done);
  bool decode_piece(JobPointer& job);
  void push_decoded(JobPointer& job);
  [[noreturn]] void refuse_full(const Job& job);
  void work(Lane& lane);
  void work_once(Lane& lane);
  void compute_batch(Lane& lane);
  void compute_spread(Lane& narrow);
  void compute_on(Lane& lane, std::vector<JobPointer>& jobs);
  void rest(Lane& lane);
  void refuse_expired(std::vector<JobPointer>& expired);
  void compute(Instance& instance, std::vector<JobPointer>& jobs);
  void compute_alone(Instance& instance, JobPointer job);
  void finish(JobPointer job, InferResult result);
  void answer(JobPointer job, std::variant<InferResult, std::exception_ptr> value);
  void fail(JobPointer job, const std::exception_ptr& problem, FailReason reason);
  void fail_all(std::vector<JobPointer>& jobs, const std::exception_ptr& problem);
  bool answer_from_cache(Job& job);

  ModelConfig config_;
  const bool may_spread_;  // nobody has said how to compute
  std::string version_;
  Shared shared_;
  Network network_;
  JobQueue queue_;
  Statistics statistics_;
  OrderedAnswers answers_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Lane> wide_;  // on all cores, for few requests; null unless spreads()
  int64_t memory_bytes_ = 0;
  bool quick_ = false;  // batches may be computed by who brings requests
  std::mutex ending_;
  std::condition_variable ended_;
  size_t running_ = 0;    // workers
  int64_t decoding_ = 0;  // jobs whose pictures are not decoded yet
  bool closing_ = false;  // no more of them
  bool dropping_ = false;
};

}  // namespace trainyard::serve
