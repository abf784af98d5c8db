#include "serve/scheduling/job_queue.h"

#include <thread>

#include <gtest/gtest.h>

namespace trainyard::serve {
namespace {

JobPointer job_of(int64_t rows, int64_t priority = 0) {
  auto job = std::make_unique<Job>();
  job->shapes = {Shape{rows, 4}};
  job->rows = rows;
  job->priority = priority;
  return job;
}

void push(JobQueue& queue, JobPointer job) {
  ASSERT_EQ(queue.push(job), JobQueue::Push::kDone);
}

const QueueOptions kBatches = {.max_jobs = 16, .max_rows = 8, .sizes = {1, 2, 4, 8}};

TEST(JobQueue, TakesTheLargestSizeThatIsFull) {
  JobQueue queue(kBatches);
  for (int i = 0; i < 7; ++i) push(queue, job_of(1));
  EXPECT_EQ(queue.take().batch.size(), 4U);
  EXPECT_EQ(queue.take().batch.size(), 2U);
  EXPECT_EQ(queue.take().batch.size(), 1U);
  EXPECT_EQ(queue.size(), 0);
}

TEST(JobQueue, KeepsLargeJobsWhole) {
  JobQueue queue(kBatches);
  push(queue, job_of(20));
  push(queue, job_of(1));
  EXPECT_EQ(queue.take().batch.size(), 1U);
  EXPECT_EQ(queue.take().batch.size(), 1U);
}

TEST(JobQueue, PutsOnlyEqualShapesTogether) {
  JobQueue queue(kBatches);
  push(queue, job_of(1));
  JobPointer other = job_of(1);
  other->shapes = {Shape{1, 5}};
  push(queue, std::move(other));
  EXPECT_EQ(queue.take().batch.size(), 1U);
  EXPECT_EQ(queue.take().batch.size(), 1U);
}

TEST(JobQueue, TakesUrgentJobsFirst) {
  JobQueue queue({.max_jobs = 16, .max_rows = 0});
  push(queue, job_of(1, 3));
  push(queue, job_of(1, 1));
  push(queue, job_of(1, 3));
  EXPECT_EQ(queue.take().batch[0]->priority, 1);
  EXPECT_EQ(queue.take().batch[0]->order, 0U);
  EXPECT_EQ(queue.take().batch[0]->order, 2U);
}

TEST(JobQueue, SaysWhenItIsFull) {
  JobQueue queue({.max_jobs = 1});
  push(queue, job_of(1));
  JobPointer second = job_of(1);
  EXPECT_EQ(queue.push(second), JobQueue::Push::kFull);
  EXPECT_NE(second, nullptr);
}

TEST(JobQueue, GivesBackWhoseTimeIsUp) {
  JobQueue queue(kBatches);
  JobPointer late = job_of(1);
  late->deadline = Clock::now() - std::chrono::seconds(1);
  push(queue, std::move(late));
  push(queue, job_of(1));
  const TakenJobs taken = queue.take();
  EXPECT_EQ(taken.expired.size(), 1U);
  EXPECT_EQ(taken.batch.size(), 1U);
}

TEST(JobQueue, WaitsForOthersNoLongerThanItMay) {
  QueueOptions options = kBatches;
  options.max_delay = std::chrono::milliseconds(30);
  JobQueue queue(options);
  const Clock::time_point begin = Clock::now();
  push(queue, job_of(1));
  EXPECT_EQ(queue.take().batch.size(), 1U);
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(30));
  for (int i = 0; i < 8; ++i) push(queue, job_of(1));
  const Clock::time_point full = Clock::now();
  EXPECT_EQ(queue.take().batch.size(), 8U);
  EXPECT_LT(Clock::now() - full, std::chrono::milliseconds(30));
}

TEST(JobQueue, LeavesToWorkersWhatTakesLong) {
  JobQueue queue(kBatches);
  EXPECT_TRUE(queue.take_at_once(JobQueue::Take::kQuick).batch.empty());
  push(queue, job_of(1));
  push(queue, job_of(1));
  JobPointer picture = job_of(1);
  picture->request.inputs.emplace_back().texts = {"not decoded yet"};
  picture->data = {nullptr};
  picture->texts.emplace_back();
  picture->sources = {0};
  push(queue, std::move(picture));
  push(queue, job_of(9));
  EXPECT_EQ(queue.take_at_once(JobQueue::Take::kQuick).batch.size(), 2U);
  EXPECT_TRUE(queue.take_at_once(JobQueue::Take::kQuick).batch.empty());
  EXPECT_EQ(queue.take().batch.size(), 1U);
  EXPECT_TRUE(queue.take_at_once(JobQueue::Take::kQuick).batch.empty());
  EXPECT_EQ(queue.size(), 1);
}

TEST(JobQueue, GivesOneJobAtATime) {
  JobQueue queue(kBatches);
  for (const int64_t rows : {1, 3, 9}) push(queue, job_of(rows));
  for (const int64_t rows : {1, 3, 9}) {
    const TakenJobs taken = queue.take_at_once(JobQueue::Take::kOne);
    ASSERT_EQ(taken.batch.size(), 1U);
    EXPECT_EQ(taken.batch[0]->rows, rows);
  }
  EXPECT_FALSE(queue.ended());
  queue.close();
  EXPECT_TRUE(queue.ended());
}

TEST(JobQueue, EndsOnceClosedAndEmpty) {
  JobQueue queue(kBatches);
  push(queue, job_of(1));
  queue.close();
  JobPointer late = job_of(1);
  EXPECT_EQ(queue.push(late), JobQueue::Push::kClosed);
  EXPECT_EQ(queue.take().batch.size(), 1U);
  EXPECT_TRUE(queue.take().batch.empty());
}

}  // namespace
}  // namespace trainyard::serve
