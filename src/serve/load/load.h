// A load generator: what a server gives at so many requests at a time, or so many a second.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace trainyard::serve {

struct LoadOptions {
  std::string url;
  std::string model;
  std::string version;  // empty: the latest
  // Requests at a time; of an open loop, connections.
  std::vector<int64_t> concurrency = {1, 2, 4, 8};
  double rate = 0;       // requests per second; 0: the next follows the answer
  double seconds = 5;    // of each row
  double warm_up = 0.5;  // seconds before it that do not count
  int64_t batch = 1;     // rows of a request
  bool json = false;     // tensors as JSON, not as bytes
  int64_t payloads = 4;  // different inputs
  uint64_t seed = 1;
  std::string token;
};

struct LoadRow {
  int64_t concurrency = 0;
  double rate = 0;
  double requests_per_s = 0;
  // Absent where too few answers came: 1 in 100 is not known from 20 of them.
  std::optional<double> p50_ms = {};
  std::optional<double> p90_ms = {};
  std::optional<double> p95_ms = {};
  std::optional<double> p99_ms = {};
  double mean_ms = 0;
  // Means per request, from the server's statistics; what is left of mean_ms is the client's, the
  // network's and the server's reading and writing.
  double queue_ms = 0;
  double compute_ms = 0;
  double mean_batch = 0;    // rows computed together
  double client_cores = 0;  // what the client itself took of the machine, where it shares it
  std::optional<double> server_cores = {};  // and the server, if it says so
  int64_t requests = 0;
  int64_t answered = 0;  // 200, which all times are of
  int64_t rejected = 0;  // 503 and 429
  int64_t errors = 0;    // anything else that is not 200
  int64_t wrong = 0;     // differs from the answer that the same input gets alone

  double other_ms() const { return mean_ms - queue_ms - compute_ms; }
};

// Throws Error if there is no such model, Failure if the server cannot be reached. `progress` is
// called after each row.
std::vector<LoadRow> run_load(const LoadOptions& options,
                              const std::function<void(const LoadRow&)>& progress);

// The value that a share of `sorted` does not exceed, by rank. Nothing if they are too few to tell:
// at least one must lie beyond it.
std::optional<double> percentile_of(const std::vector<double>& sorted, double share);

}  // namespace trainyard::serve
