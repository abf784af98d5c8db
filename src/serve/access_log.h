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
  std::string_view trace_parent;  // empty: none was sent
  std::string_view peer;
  std::string_view method;
  std::string_view path;
  Status status = Status::kOk;
  size_t bytes_in = 0;
  size_t bytes_out = 0;
  Clock::time_point arrived;
  const InferResult* result = nullptr;  // null: it was no inference
};

// Which inferences are traced.
struct TraceSettings {
  bool on = false;
  int64_t every = 1000;  // one of so many
  int64_t left = -1;     // so many more; -1: any number
};

// Thread-safe.
class AccessLog {
 public:
  // `file` may be "-" (stderr) or empty (none). Every n-th inference is traced; 0: none.
  AccessLog(const std::string& file, int64_t trace_every);

  // Of all models if `model` is empty; a model without settings of its own has those of all.
  TraceSettings trace_settings(const std::string& model) const;
  // What holds where nothing is set: for a model those of all, for all those of the start.
  TraceSettings usual_trace(const std::string& model) const;
  void set_trace(const std::string& model, const TraceSettings& settings);

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
  TraceSettings& settings_of(const std::string& model);

  std::unique_ptr<AppendFile> file_;
  bool to_stderr_ = false;
  TraceSettings at_start_;
  TraceSettings of_all_;
  std::map<std::string, TraceSettings> of_models_;
  Clock::time_point start_ = Clock::now();
  mutable std::mutex mutex_;
  std::map<int, uint64_t> counts_;
  int64_t inferences_ = 0;
  std::vector<Traced> traced_;
};

}  // namespace trainyard::serve
