// Jobs that wait, and how they are put together: by priority, then by arrival.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "serve/scheduling/job.h"

namespace trainyard::serve {

struct QueueOptions {
  int64_t max_jobs = 256;
  int64_t max_rows = 0;                    // of a batch; 0: jobs are taken one by one
  std::vector<int64_t> sizes = {1};        // of batches, ascending
  std::chrono::microseconds max_delay{0};  // how long the first may wait for others
};

// What a worker takes: jobs to compute together, and jobs whose time is up.
struct TakenJobs {
  std::vector<JobPointer> batch;
  std::vector<JobPointer> expired;
};

// Thread-safe.
class JobQueue {
 public:
  explicit JobQueue(QueueOptions options) : options_(std::move(options)) {}

  enum class Push : uint8_t { kDone, kFull, kClosed };
  // Takes the job if it is kDone. Who does not wake a waiting worker calls take_at_once() or wake()
  // soon.
  Push push(JobPointer& job, bool wakes = true);
  void wake() { changed_.notify_one(); }
  // It has pictures to decode, or more rows than a batch.
  bool takes_long(const Job& job) const;

  // Waits so long; false if nothing came.
  bool wait_for_jobs(std::chrono::seconds most);
  // Waits for jobs. Both lists are empty once the queue is closed and empty.
  TakenJobs take();
  enum class Take : uint8_t { kBatch, kQuick, kOne };
  // What is there: a batch, one that ends before a job that takes long, or one job. Both lists may
  // be empty.
  TakenJobs take_at_once(Take what);

  // No more jobs are taken in; those that wait are still computed.
  void close();
  // Gives back what waits.
  std::vector<JobPointer> drop_all();
  int64_t size() const;
  // It is closed, and nothing waits.
  bool ended() const;

 private:
  void expire(Clock::time_point now, std::vector<JobPointer>& expired);
  void fill(std::vector<JobPointer>& batch, Take what = Take::kBatch);
  bool wait_for_more(std::unique_lock<std::mutex>& lock);

  QueueOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, std::deque<JobPointer>> waiting_;  // by priority
  int64_t count_ = 0;
  int64_t rows_ = 0;
  int64_t with_deadline_ = 0;
  uint64_t next_order_ = 0;
  bool closed_ = false;
};

}  // namespace trainyard::serve
