// What a version of a model has done so far: counts, times, distributions.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "base/json.h"
#include "serve/protocol/infer_request.h"

namespace trainyard::serve {

// Counts of values by upper bounds; what lies above the last has a bucket of its own.
struct Histogram {
  explicit Histogram(std::span<const double> upper)
      : bounds(upper.begin(), upper.end()), counts(upper.size() + 1) {}
  void add(double value);

  std::vector<double> bounds;
  std::vector<uint64_t> counts;
  double sum = 0;
  uint64_t total = 0;
};

struct CountAndTime {
  uint64_t count = 0;
  uint64_t ns = 0;
  void add(Clock::duration time, uint64_t times = 1);
};

enum class FailReason : uint8_t { kRejected, kCanceled, kBackend, kOther };
inline constexpr std::array<std::string_view, 4> kFailReasons = {"REJECTED", "CANCELED", "BACKEND",
                                                                 "OTHER"};

struct BatchStatistics {
  CountAndTime input;
  CountAndTime infer;
  CountAndTime output;
};

struct StatisticsSnapshot {
  StatisticsSnapshot();

  int64_t last_inference_ms = 0;  // since 1970
  uint64_t inferences = 0;        // rows
  uint64_t executions = 0;        // batches
  CountAndTime success, fail, queue, compute_input, compute_infer, compute_output, cache_hit,
      cache_miss;
  std::array<uint64_t, kFailReasons.size()> failures{};
  std::map<int64_t, BatchStatistics> batches;  // by rows
  Histogram total_s;
  Histogram queue_s;
  Histogram compute_s;
  Histogram batch_rows;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
};

// Thread-safe.
class Statistics {
 public:
  // Once per batch, with the results of its jobs.
  void add_batch(std::span<const InferResult> results, std::span<const int64_t> rows);
  void add_failure(FailReason reason, Clock::duration time);
  void add_cache(bool hit, Clock::duration time);
  void add_bytes(uint64_t in, uint64_t out);
  StatisticsSnapshot snapshot() const;

 private:
  mutable std::mutex mutex_;
  StatisticsSnapshot now_;
};

// One entry of model_stats.
Json statistics_json(const std::string& name, const std::string& version,
                     const StatisticsSnapshot& statistics, int64_t memory_bytes);

}  // namespace trainyard::serve
