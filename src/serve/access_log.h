// What was asked and how it ended: a line of JSON per request, counts for /metrics, and a trace of
// some requests.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/file.h"
#include "http/status.h"
#include "serve/protocol/infer_request.h"

namespace trainyard::serve {

struct AccessEntry {
  std::string_view id;
  std::string_view peer;
  std::string_view method;
  std::string_view path;
  Status status = Status::kOk;
  size_t bytes_in = 0;
  size_t bytes_out = 0;
  Clock::time_point arrived;
  const InferResult* result = nullptr;  // null: it was no inference
};

// Thread-safe.
class AccessLog {
 public:
  // `file` may be "-" (stderr) or empty (none). Every n-th inference is traced; 0: none.
  AccessLog(const std::string& file, int64_t trace_every);

  void add(const AccessEntry& entry);
  std::map<int, uint64_t> counts() const;  // by status
  // "X" events, microseconds since the start; at most some thousand requests.
  std::string trace_json() const;

 private:
  struct Traced {
    std::string name;
    RequestTimes times;
    Clock::time_point replied;
  };
  void trace(const AccessEntry& entry, Clock::time_point now);

  std::unique_ptr<AppendFile> file_;
  bool to_stderr_ = false;
  int64_t trace_every_;
  Clock::time_point start_ = Clock::now();
  mutable std::mutex mutex_;
  std::map<int, uint64_t> counts_;
  int64_t inferences_ = 0;
  std::vector<Traced> traced_;
};

}  // namespace trainyard::serve
