#include "serve/scheduling/statistics.h"

#include <algorithm>

namespace trainyard::serve {
namespace {

constexpr std::array<double, 15> kSeconds = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};
constexpr std::array<double, 8> kRows = {1, 2, 4, 8, 16, 32, 64, 128};

double seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

Json count_json(const CountAndTime& value) {
  return Json::object({{"count", value.count}, {"ns", value.ns}});
}

}  // namespace

void Histogram::add(double value) {
  const auto bucket = std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin();
  ++counts[static_cast<size_t>(bucket)];
  sum += value;
  ++total;
}

void CountAndTime::add(Clock::duration time, uint64_t times) {
  count += times;
  ns += times * static_cast<uint64_t>(std::chrono::nanoseconds(time).count());
}

StatisticsSnapshot::StatisticsSnapshot()
    : total_s(kSeconds), queue_s(kSeconds), compute_s(kSeconds), batch_rows(kRows) {}

void Statistics::add_batch(std::span<const InferResult> results, std::span<const int64_t> rows) {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  const std::lock_guard lock(mutex_);
  now_.last_inference_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
  ++now_.executions;
  now_.batch_rows.add(static_cast<double>(results[0].batch));
  for (size_t i = 0; i < results.size(); ++i) {
    const RequestTimes& times = results[i].times;
    now_.inferences += static_cast<uint64_t>(rows[i]);
    now_.success.add(times.finished - times.arrived);
    now_.queue.add(times.started - times.queued);
    now_.compute_input.add(times.computing - times.started);
    now_.compute_infer.add(times.computed - times.computing);
    now_.compute_output.add(times.finished - times.computed);
    now_.total_s.add(seconds(times.finished - times.arrived));
    now_.queue_s.add(seconds(times.started - times.queued));
    now_.compute_s.add(seconds(times.computed - times.computing));
  }
  const RequestTimes& times = results[0].times;
  BatchStatistics& batch = now_.batches[results[0].batch];
  batch.input.add(times.computing - times.started);
  batch.infer.add(times.computed - times.computing);
  batch.output.add(times.finished - times.computed);
}

void Statistics::add_failure(FailReason reason, Clock::duration time) {
  const std::lock_guard lock(mutex_);
  now_.fail.add(time);
  ++now_.failures[static_cast<size_t>(reason)];
}

void Statistics::add_cache(bool hit, Clock::duration time) {
  const std::lock_guard lock(mutex_);
  (hit ? now_.cache_hit : now_.cache_miss).add(time);
  if (!hit) return;
  now_.success.add(time);
  now_.total_s.add(seconds(time));
}

void Statistics::add_bytes(uint64_t in, uint64_t out) {
  const std::lock_guard lock(mutex_);
  now_.bytes_in += in;
  now_.bytes_out += out;
}

StatisticsSnapshot Statistics::snapshot() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

Json statistics_json(const std::string& name, const std::string& version,
                     const StatisticsSnapshot& statistics, int64_t memory_bytes) {
  Json batches = Json::array();
  for (const auto& [rows, batch] : statistics.batches) {
    batches.push_back(Json::object({{"batch_size", rows},
                                    {"compute_input", count_json(batch.input)},
                                    {"compute_infer", count_json(batch.infer)},
                                    {"compute_output", count_json(batch.output)}}));
  }
  Json memory = Json::object({{"type", "CPU"}, {"id", 0}, {"byte_size", memory_bytes}});
  return Json::object(
      {{"name", name},
       {"version", version},
       {"last_inference", statistics.last_inference_ms},
       {"inference_count", statistics.inferences},
       {"execution_count", statistics.executions},
       {"inference_stats", Json::object({{"success", count_json(statistics.success)},
                                         {"fail", count_json(statistics.fail)},
                                         {"queue", count_json(statistics.queue)},
                                         {"compute_input", count_json(statistics.compute_input)},
                                         {"compute_infer", count_json(statistics.compute_infer)},
                                         {"compute_output", count_json(statistics.compute_output)},
                                         {"cache_hit", count_json(statistics.cache_hit)},
                                         {"cache_miss", count_json(statistics.cache_miss)}})},
       {"response_stats", Json::object()},
       {"batch_stats", std::move(batches)},
       {"memory_usage", Json::array_of(std::vector<Json>{std::move(memory)})}});
}

}  // namespace trainyard::serve
