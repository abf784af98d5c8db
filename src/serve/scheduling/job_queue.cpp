#include "serve/scheduling/job_queue.h"

#include <algorithm>

namespace trainyard::serve {
namespace {

bool has_deadline(const Job& job) {
  return job.deadline != Clock::time_point::max();
}

}  // namespace

// Times and order are set under the lock, so that arrival is the order in the queue.
JobQueue::Push JobQueue::push(JobPointer& job, bool wakes) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return Push::kClosed;
    if (options_.max_jobs > 0 && count_ >= options_.max_jobs) return Push::kFull;
    job->request.times.queued = Clock::now();
    job->order = next_order_++;
    ++count_;
    rows_ += job->rows;
    with_deadline_ += has_deadline(*job) ? 1 : 0;
    waiting_[job->priority].push_back(std::move(job));
  }
  if (wakes) changed_.notify_one();
  return Push::kDone;
}

// Under the lock. Callers answer the expired jobs after they have let it go.
void JobQueue::expire(Clock::time_point now, std::vector<JobPointer>& expired) {
  if (with_deadline_ == 0) return;
  for (auto& [priority, jobs] : waiting_) {
    const auto late = std::stable_partition(
        jobs.begin(), jobs.end(), [&](const JobPointer& job) { return job->deadline > now; });
    for (auto it = late; it != jobs.end(); ++it) {
      --count_;
      rows_ -= (*it)->rows;
      --with_deadline_;
      expired.push_back(std::move(*it));
    }
    jobs.erase(late, jobs.end());
  }
}

// The first job decides the shape. Rows are taken up to the largest size that is full: what is left
// over is computed next, rather than in two parts now.
void JobQueue::fill(std::vector<JobPointer>& batch, Take what) {
  // A first job that is larger than the room is taken alone.
  int64_t room = 1;
  int64_t fitting = 0;
  if (options_.max_rows > 0 && what != Take::kOne) {
    const auto& sizes = options_.sizes;
    const auto above = std::upper_bound(sizes.begin(), sizes.end(), rows_);
    room = above == sizes.begin() ? 1 : *std::prev(above);
  }
  for (auto& [priority, jobs] : waiting_) {
    while (!jobs.empty()) {
      Job& next = *jobs.front();
      const bool first = batch.empty();
      if (what == Take::kQuick && takes_long(next)) return;
      if (!first && (options_.max_rows == 0 || fitting + next.rows > room ||
                     !same_but_rows(*batch[0], next))) {
        return;
      }
      fitting += next.rows;
      --count_;
      rows_ -= next.rows;
      with_deadline_ -= has_deadline(next) ? 1 : 0;
      batch.push_back(std::move(jobs.front()));
      jobs.pop_front();
    }
  }
}

// Whether to wait on: the batch is not full, and the one that came first may still wait.
bool JobQueue::wait_for_more(std::unique_lock<std::mutex>& lock) {
  if (options_.max_delay.count() == 0 || options_.max_rows == 0 || closed_) return false;
  if (rows_ >= options_.max_rows) return false;
  // The earliest deadline counts too: a job must not expire while its batch waits for company.
  Clock::time_point until = Clock::time_point::max();
  for (const auto& [priority, jobs] : waiting_) {
    for (const JobPointer& job : jobs) {
      until = std::min({until, job->request.times.queued + options_.max_delay, job->deadline});
    }
  }
  if (until <= Clock::now()) return false;
  changed_.wait_until(lock, until);
  return true;
}

bool JobQueue::wait_for_jobs(std::chrono::seconds most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, most, [&] { return count_ > 0 || closed_; });
}

TakenJobs JobQueue::take() {
  TakenJobs taken;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return count_ > 0 || closed_; });
    if (count_ == 0) return taken;
    expire(Clock::now(), taken.expired);
    if (count_ > 0 && wait_for_more(lock)) {
      // Those whose time is up are answered at once, not with the next batch.
      if (!taken.expired.empty()) return taken;
      continue;
    }
    if (count_ > 0) fill(taken.batch);
    if (!taken.batch.empty() || !taken.expired.empty()) return taken;
  }
}

bool JobQueue::takes_long(const Job& job) const {
  return has_pictures(job) || job.rows > std::max<int64_t>(1, options_.max_rows);
}

TakenJobs JobQueue::take_at_once(Take what) {
  TakenJobs taken;
  const std::lock_guard lock(mutex_);
  if (count_ == 0) return taken;
  expire(Clock::now(), taken.expired);
  if (count_ > 0) fill(taken.batch, what);
  return taken;
}

void JobQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

// For a shutdown whose time is up. The caller answers each of them.
std::vector<JobPointer> JobQueue::drop_all() {
  const std::lock_guard lock(mutex_);
  std::vector<JobPointer> dropped;
  for (auto& [priority, jobs] : waiting_) {
    for (JobPointer& job : jobs) dropped.push_back(std::move(job));
    jobs.clear();
  }
  count_ = 0;
  rows_ = 0;
  with_deadline_ = 0;
  return dropped;
}

bool JobQueue::ended() const {
  const std::lock_guard lock(mutex_);
  return closed_ && count_ == 0;
}

int64_t JobQueue::size() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

}  // namespace trainyard::serve
