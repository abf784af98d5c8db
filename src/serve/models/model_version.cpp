#include "serve/models/model_version.h"

#include <algorithm>
#include <exception>
#include <future>
#include <system_error>

#include "base/error.h"
#include "http/events.h"
#include "http/status.h"
#include "serve/models/idle_memory.h"

namespace trainyard::serve {
namespace {

// Without requests for so long, memory is given back; having it again costs the next one some
// milliseconds.
constexpr std::chrono::seconds kIdle{10};

constexpr int64_t kMostInstances = 64;

// Of the rows a second that batches on all cores give, alone and undisturbed. With connections to
// serve on the same cores, threads that wait for each other lose more than the rest.
constexpr double kWorthSpreading = 0.97;
constexpr double kClearlyWorse = 0.8;

// A batch that takes no longer is not worth waking a worker for; a thread that serves connections
// may be kept from them for so long.
constexpr std::chrono::milliseconds kQuick{1};

int threads_of(const ModelConfig& config, int cores) {
  TY_REQUIRE(config.instances >= 0 && config.instances <= kMostInstances,
             "model '{}': {} instances, expected 1 to {}", config.name, config.instances,
             kMostInstances);
  if (config.threads > 0) return static_cast<int>(config.threads);
  return std::max(1, cores / static_cast<int>(std::max<int64_t>(1, config.instances)));
}

QueueOptions queue_options(const ModelConfig& config, const Network& network) {
  return {.max_jobs = config.max_queue,
          .max_rows = network.max_batch(),
          .sizes = network.sizes(),
          .max_delay = config.max_delay};
}

bool leaves_open_how_to_compute(const ModelConfig& config) {
  return config.instances == 0 && config.threads == 0 && config.preferred_batches.empty() &&
         config.max_delay.count() == 0;
}

}  // namespace

ModelVersion::ModelVersion(ModelConfig config, int64_t version, NetworkSource source, Shared shared)
    : config_(std::move(config)),
      may_spread_(leaves_open_how_to_compute(config_)),
      version_(std::to_string(version)),
      shared_(shared),
      network_(std::move(source), config_, threads_of(config_, shared.gate.cores())),
      queue_(queue_options(config_, network_)) {
  Lanes lanes = spread_lanes();
  if (lanes.empty()) lanes = batch_lanes();
  memory_bytes_ = network_.constant_bytes();
  for (const auto& lane : lanes) memory_bytes_ += lane->instance.arena_bytes();
  if (wide_ != nullptr) memory_bytes_ += wide_->instance.arena_bytes();
  network_.drop_source();
  give_back_freed_memory();
  start_workers(std::move(lanes));
}

void ModelVersion::start_workers(Lanes lanes) {
  running_ = lanes.size();
  try {
    for (std::unique_ptr<Lane>& lane : lanes) {
      workers_.push_back(std::make_unique<Worker>(Worker{std::move(lane), {}}));
      workers_.back()->thread = std::thread([this, &lane = *workers_.back()->lane] { work(lane); });
    }
  } catch (const std::system_error& error) {
    shut_down(Clock::now());
    throw_failure("model '{}': a thread for one of {} instances cannot be started: {}", name(),
                  lanes.size(), error.what());
  }
}

std::unique_ptr<ModelVersion::Lane> ModelVersion::warm_lane(CompiledForm form,
                                                            std::vector<int64_t> sizes) {
  int64_t warm_ups = 1;
  for (const WarmUp& entry : config_.warm_ups) warm_ups = std::max(warm_ups, entry.count);
  auto lane = std::make_unique<Lane>(network_, form, std::move(sizes));
  lane->instance.warm_up(warm_ups, shared_.ending);
  return lane;
}

ModelVersion::Lanes ModelVersion::batch_lanes() {
  Lanes lanes;
  int64_t wanted = std::max<int64_t>(1, config_.instances);
  for (int64_t i = 0; i < wanted; ++i) {
    lanes.push_back(warm_lane({.threads = network_.threads()}, network_.sizes()));
    // What is too small for several threads computes as many batches at the same time.
    if (config_.instances == 0 && network_.is_small()) {
      wanted = std::min<int64_t>(shared_.gate.cores(), kMostInstances);
    }
  }
  config_.instances = wanted;
  if (network_.is_small() && config_.max_delay.count() == 0) {
    quick_ = static_cast<double>(network_.sizes().back()) <=
             lanes[0]->instance.rows_per_second() * std::chrono::duration<double>(kQuick).count();
  }
  return lanes;
}

double ModelVersion::rows_per_second_of_all(const Lanes& lanes) {
  std::vector<std::future<double>> rates;
  for (const auto& lane : lanes) {
    rates.push_back(std::async(
        std::launch::async, [&instance = lane->instance] { return instance.rows_per_second(); }));
  }
  double sum = 0;
  for (std::future<double>& rate : rates) sum += rate.get();
  return sum;
}

// The weights of a large network are read from memory once for a batch, and again for each request
// that is computed by itself; others gain nothing from batches here. Which is which is measured,
// all cores computing at the same time.
ModelVersion::Lanes ModelVersion::spread_lanes() {
  if (!may_spread_ || network_.threads() == 1 || network_.has_open_dims()) return {};
  const auto largest = warm_lane({.threads = network_.threads()}, {network_.sizes().back()});
  if (network_.is_small()) return {};
  Lanes narrow;
  for (int i = 0; i < network_.threads(); ++i) {
    narrow.push_back(warm_lane({.threads = 1, .compact = true}, {1}));
  }
  double together = 0;
  double spread = 0;
  // The best of several rounds, where other work on the machine may have decided.
  for (int round = 0; round < 3; ++round) {
    together = std::max(together, largest->instance.rows_per_second());
    spread = std::max(spread, rows_per_second_of_all(narrow));
    if (spread >= kWorthSpreading * together || spread < kClearlyWorse * together) break;
  }
  if (spread < kWorthSpreading * together) {
    network_.drop_compiled(/*compact=*/true);
    return {};
  }
  network_.drop_compiled(/*compact=*/false);
  wide_ = warm_lane({.threads = network_.threads(), .compact = true}, {1});
  config_.instances = 1;
  return narrow;
}

ModelVersion::~ModelVersion() {
  shut_down(Clock::now());
}

void ModelVersion::set_times(Job& job) const {
  if (config_.priority_levels > 0) {
    const int64_t priority = job.request.priority;
    if (priority > config_.priority_levels) {
      refuse(Status::kBadRequest, "parameters.priority is {}, expected 1 to {} (0: the default)",
             priority, config_.priority_levels);
    }
    job.priority = priority > 0 ? priority : config_.default_priority;
  }
  const auto timeout =
      config_.allow_timeout_override &&
              job.request.timeout.value_or(std::chrono::microseconds(0)).count() > 0
          ? job.request.timeout
          : config_.default_timeout;
  // Longer ones could not be added to the clock.
  constexpr std::chrono::hours kForever{24 * 365};
  if (timeout && *timeout < kForever) job.deadline = Clock::now() + *timeout;
}

bool ModelVersion::infer(InferRequest& request, InferDone& done, bool* left_to_caller) {
  JobPointer job = make_job(network_, std::move(request), std::move(done));
  set_times(*job);
  if (shared_.cache != nullptr && config_.response_cache) {
    job->cache_key = ResponseCache::key(name(), version_, *job);
    if (answer_from_cache(*job)) return true;
  }
  // Answers in order want requests in order.
  if (has_pictures(*job) && shared_.side != nullptr && !config_.preserve_order) {
    return decode_first(std::move(job), request, done);
  }
  return push(std::move(job), request, done, left_to_caller);
}

bool ModelVersion::push(JobPointer job, InferRequest& request, InferDone& done,
                        bool* left_to_caller) {
  const bool here = left_to_caller != nullptr && quick_ && !queue_.takes_long(*job);
  if (here) *left_to_caller = true;
  switch (queue_.push(job, /*wakes=*/!here)) {
    case JobQueue::Push::kDone:
      if (spreads()) shared_.gate.jobs_came();
      return true;
    case JobQueue::Push::kClosed:
      request = std::move(job->request);
      done = std::move(job->done);
      return false;
    case JobQueue::Push::kFull:
      refuse_full(*job);
  }
  return false;
}

void ModelVersion::refuse_full(const Job& job) {
  statistics_.add_failure(FailReason::kRejected, Clock::now() - job.request.times.arrived);
  throw RequestError(Status::kUnavailable,
                     fmt::format("model '{}': {} requests are waiting, which is the limit; "
                                 "try again later",
                                 name(), config_.max_queue),
                     /*retry_after_s=*/1);
}

bool ModelVersion::decode_first(JobPointer job, InferRequest& request, InferDone& done) {
  {
    const std::lock_guard lock(ending_);
    if (closing_) {
      request = std::move(job->request);
      done = std::move(job->done);
      return false;
    }
    if (config_.max_queue > 0 && decoding_ + queue_.size() >= config_.max_queue) refuse_full(*job);
    ++decoding_;
  }
  const PixelCount pixels = pixels_to_decode(*job);
  auto kept = std::make_shared<JobPointer>(std::move(job));
  shared_.side->of(pixels.largest).post(SlowWork::turn_of(Clock::now(), pixels.sum), [this, kept] {
    return decode_piece(*kept);
  });
  return true;
}

// True while pictures are left.
bool ModelVersion::decode_piece(JobPointer& job) {
  struct Ending {
    ModelVersion& model;
    bool more = false;
    // The version may go as soon as the lock does.
    ~Ending() {
      if (more) return;
      const std::lock_guard lock(model.ending_);
      --model.decoding_;
      model.ended_.notify_all();
    }
  } ending{*this};
  try {
    const bool dropped = [&] {
      const std::lock_guard lock(ending_);
      return dropping_;
    }();
    if (dropped) refuse(Status::kUnavailable, "model '{}' is being unloaded", name());
    if (job->deadline <= Clock::now()) {
      std::vector<JobPointer> expired;
      expired.push_back(std::move(job));
      refuse_expired(expired);
    } else if (decode_picture(network_, *job)) {
      ending.more = true;
    } else {
      push_decoded(job);
    }
  } catch (...) {
    if (job != nullptr) fail(std::move(job), std::current_exception(), FailReason::kOther);
  }
  return ending.more;
}

void ModelVersion::push_decoded(JobPointer& job) {
  switch (queue_.push(job)) {
    case JobQueue::Push::kDone:
      if (spreads()) shared_.gate.jobs_came();
      return;
    case JobQueue::Push::kClosed:
      refuse(Status::kUnavailable, "model '{}' is being unloaded", name());
    case JobQueue::Push::kFull:
      refuse_full(*job);
  }
}

bool ModelVersion::answer_from_cache(Job& job) {
  const Clock::time_point begin = job.request.times.arrived;
  std::optional<InferResult> found = shared_.cache->find(job.cache_key);
  statistics_.add_cache(found.has_value(), Clock::now() - begin);
  if (!found) return false;
  found->times = job.request.times;
  found->from_cache = true;
  job.done(std::move(*found));
  return true;
}

// Nothing that is thrown leaves the thread: without memory the next batch may still find some.
void ModelVersion::work(Lane& lane) {
  while (!queue_.ended()) {
    try {
      work_once(lane);
    } catch (const std::exception& error) {
      say_event(fmt::format("model '{}': {}", name(), error.what()));
    }
  }
  const std::lock_guard lock(ending_);
  --running_;
  ended_.notify_all();
}

void ModelVersion::work_once(Lane& lane) {
  if (!queue_.wait_for_jobs(kIdle)) {
    rest(lane);
    if (wide_ != nullptr) rest(*wide_);
  } else if (queue_.ended()) {
    return;
  } else if (wide_ != nullptr) {
    compute_spread(lane);
  } else {
    compute_batch(lane);
  }
}

void ModelVersion::compute_batch(Lane& lane) {
  TakenJobs taken = queue_.take();
  refuse_expired(taken.expired);
  if (taken.batch.empty()) return;
  const ComputeGate::Pass pass(shared_.gate, network_.threads());
  compute_on(lane, taken.batch);
}

// With a request for every core, one core each; fewer have all cores, one after another.
void ModelVersion::compute_spread(Lane& narrow) {
  const ComputeGate::Pass pass(shared_.gate, [&] { return queue_.size(); });
  TakenJobs taken = queue_.take_at_once(JobQueue::Take::kOne);
  refuse_expired(taken.expired);
  if (!taken.batch.empty()) compute_on(pass.has_all() ? *wide_ : narrow, taken.batch);
}

void ModelVersion::compute_on(Lane& lane, std::vector<JobPointer>& jobs) {
  const std::lock_guard lock(lane.busy);
  try {
    compute(lane.instance, jobs);
  } catch (...) {
    fail_all(jobs, std::current_exception());
  }
  lane.last_used = Clock::now();
  lane.rests = false;
}

void ModelVersion::rest(Lane& lane) {
  const std::lock_guard lock(lane.busy);
  if (lane.rests || Clock::now() - lane.last_used < kIdle) return;
  lane.instance.rest();
  lane.rests = true;
  forget_what_loading_needed();
}

void ModelVersion::compute_waiting() {
  if (queue_.size() == 0) return;
  for (const auto& worker : workers_) {
    Lane& lane = *worker->lane;
    const std::unique_lock busy(lane.busy, std::try_to_lock);
    if (!busy) continue;
    const auto pass = ComputeGate::Pass::at_once(shared_.gate, network_.threads());
    if (pass == nullptr) break;
    TakenJobs taken = queue_.take_at_once(JobQueue::Take::kQuick);
    refuse_expired(taken.expired);
    if (taken.batch.empty()) break;
    try {
      compute(lane.instance, taken.batch);
    } catch (...) {
      fail_all(taken.batch, std::current_exception());
    }
    lane.last_used = Clock::now();
    lane.rests = false;
    return;
  }
  if (queue_.size() > 0) queue_.wake();
}

void ModelVersion::refuse_expired(std::vector<JobPointer>& expired) {
  for (JobPointer& job : expired) {
    fail(std::move(job),
         std::make_exception_ptr(RequestError(
             Status::kUnavailable,
             fmt::format("model '{}': the request's time ran out while it waited", name()))),
         FailReason::kRejected);
  }
}

void ModelVersion::compute(Instance& instance, std::vector<JobPointer>& jobs) {
  // A picture that cannot be decoded ends its own request alone.
  for (JobPointer& job : jobs) {
    try {
      decode_pictures(network_, *job);
    } catch (...) {
      fail(std::move(job), std::current_exception(), FailReason::kOther);
    }
  }
  std::erase(jobs, nullptr);
  if (jobs.empty()) return;
  std::vector<Job*> batch;
  std::vector<int64_t> rows;
  for (const JobPointer& job : jobs) {
    batch.push_back(job.get());
    rows.push_back(job->rows);
  }
  std::vector<InferResult> results;
  try {
    results = instance.run(batch);
  } catch (...) {
    // Whichever is to blame ends alone.
    for (JobPointer& job : jobs) compute_alone(instance, std::move(job));
    return;
  }
  statistics_.add_batch(results, rows);
  for (size_t i = 0; i < jobs.size(); ++i) finish(std::move(jobs[i]), std::move(results[i]));
}

void ModelVersion::compute_alone(Instance& instance, JobPointer job) {
  Job* const alone = job.get();
  const int64_t rows = job->rows;
  try {
    std::vector<InferResult> results = instance.run({&alone, 1});
    statistics_.add_batch(results, {&rows, 1});
    finish(std::move(job), std::move(results[0]));
  } catch (...) {
    fail(std::move(job), std::current_exception(), FailReason::kBackend);
  }
}

void ModelVersion::finish(JobPointer job, InferResult result) {
  result.model = name();
  result.version = version_;
  result.has_rows = network_.max_batch() > 0;
  if (!job->cache_key.empty()) shared_.cache->add(std::move(job->cache_key), result);
  answer(std::move(job), std::move(result));
}

void ModelVersion::answer(JobPointer job, std::variant<InferResult, std::exception_ptr> value) {
  if (!config_.preserve_order) return job->done(std::move(value));
  const uint64_t order = job->order;
  // Copyable, as functions are.
  auto kept = std::make_shared<std::pair<InferDone, decltype(value)>>(std::move(job->done),
                                                                      std::move(value));
  answers_.finish(order, [kept] { kept->first(std::move(kept->second)); });
}

void ModelVersion::fail(JobPointer job, const std::exception_ptr& problem, FailReason reason) {
  statistics_.add_failure(reason, Clock::now() - job->request.times.arrived);
  answer(std::move(job), problem);
}

// Those that were not answered yet.
void ModelVersion::fail_all(std::vector<JobPointer>& jobs, const std::exception_ptr& problem) {
  for (JobPointer& job : jobs) {
    if (job != nullptr) fail(std::move(job), problem, FailReason::kBackend);
  }
}

void ModelVersion::shut_down(Clock::time_point until) {
  std::unique_lock lock(ending_);
  closing_ = true;
  const auto none_decodes = [&] { return decoding_ == 0; };
  if (!ended_.wait_until(lock, until, none_decodes)) {
    dropping_ = true;
    ended_.wait(lock, none_decodes);
  }
  queue_.close();
  if (!ended_.wait_until(lock, until, [&] { return running_ == 0; })) {
    lock.unlock();
    for (JobPointer& job : queue_.drop_all()) {
      fail(std::move(job),
           std::make_exception_ptr(RequestError(
               Status::kUnavailable, fmt::format("model '{}' is being unloaded", name()))),
           FailReason::kCanceled);
    }
  }
  if (lock.owns_lock()) lock.unlock();
  for (const auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
    const std::lock_guard none_computes(worker->lane->busy);
  }
  if (shared_.cache != nullptr) shared_.cache->forget(name(), version_);
}

}  // namespace trainyard::serve
