#include <cstdio>

#include <fmt/format.h>

#include "base/json.h"
#include "base/printable.h"
#include "serve/service.h"

namespace trainyard::serve {
namespace {

constexpr size_t kMostTraced = 20'000;

double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

int64_t microseconds(Clock::duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

std::string line_of(const AccessEntry& entry, Clock::time_point now) {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  Json line = Json::object(
      {{"time_ms", static_cast<int64_t>(
                       std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count())},
       {"id", entry.id},
       {"peer", entry.peer},
       {"method", entry.method},
       {"path", printable_line(entry.path)},
       {"status", static_cast<int>(entry.status)},
       {"bytes_in", entry.bytes_in},
       {"bytes_out", entry.bytes_out},
       {"total_ms", milliseconds(now - entry.arrived)}});
  if (!entry.trace_parent.empty()) line["traceparent"] = entry.trace_parent;
  if (const InferResult* result = entry.result) {
    const RequestTimes& times = result->times;
    line["model"] = result->model;
    line["version"] = result->version;
    line["batch"] = result->batch;
    line["cached"] = result->from_cache;
    line["queue_ms"] = milliseconds(times.started - times.queued);
    line["compute_ms"] = milliseconds(times.computed - times.computing);
  }
  return line.dump(-1) + "\n";
}

}  // namespace

AccessLog::AccessLog(const std::string& file, int64_t trace_every) : to_stderr_(file == "-") {
  if (trace_every > 0) at_start_ = {.on = true, .every = trace_every};
  of_all_ = at_start_;
  if (!file.empty() && !to_stderr_) file_ = std::make_unique<AppendFile>(file);
}

void AccessLog::add(const AccessEntry& entry) {
  const Clock::time_point now = Clock::now();
  std::string line;
  if (file_ != nullptr || to_stderr_) line = line_of(entry, now);
  const std::lock_guard lock(mutex_);
  ++counts_[static_cast<int>(entry.status)];
  if (entry.result != nullptr) trace(entry, now);
  try {
    if (file_ != nullptr) file_->append(line);
  } catch (const std::exception&) {
    // A full disk must not end requests.
  }
  if (to_stderr_) std::fputs(line.c_str(), stderr);
}

void AccessLog::trace(const AccessEntry& entry, Clock::time_point now) {
  TraceSettings& settings = settings_of(entry.result->model);
  if (!settings.on || settings.left == 0 || inferences_++ % settings.every != 0) return;
  if (entry.result->from_cache || traced_.size() >= kMostTraced) return;
  if (settings.left > 0) --settings.left;
  traced_.push_back(
      {fmt::format("{} {}", entry.result->model, entry.id), entry.result->times, now});
}

TraceSettings& AccessLog::settings_of(const std::string& model) {
  const auto own = of_models_.find(model);
  return own == of_models_.end() ? of_all_ : own->second;
}

TraceSettings AccessLog::trace_settings(const std::string& model) const {
  const std::lock_guard lock(mutex_);
  const auto own = of_models_.find(model);
  return own == of_models_.end() ? of_all_ : own->second;
}

TraceSettings AccessLog::usual_trace(const std::string& model) const {
  const std::lock_guard lock(mutex_);
  return model.empty() ? at_start_ : of_all_;
}

void AccessLog::set_trace(const std::string& model, const TraceSettings& settings) {
  const std::lock_guard lock(mutex_);
  (model.empty() ? of_all_ : of_models_[model]) = settings;
}

std::map<int, uint64_t> AccessLog::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::string AccessLog::trace_json() const {
  const std::lock_guard lock(mutex_);
  std::string out = "{\"traceEvents\":[";
  for (size_t i = 0; i < traced_.size(); ++i) {
    const Traced& one = traced_[i];
    const RequestTimes& times = one.times;
    const auto put = [&](std::string_view name, Clock::time_point begin, Clock::time_point end) {
      if (out.back() != '[') out += ',';
      out += fmt::format("{{\"name\":{},\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{},\"dur\":{}}}",
                         Json(name).dump(-1), i + 1, microseconds(begin - start_),
                         microseconds(end - begin));
    };
    put(one.name, times.arrived, one.replied);
    put("receive and parse", times.arrived, times.queued);
    put("queue", times.queued, times.started);
    put("input", times.started, times.computing);
    put("compute", times.computing, times.computed);
    put("output", times.computed, times.finished);
    put("respond", times.finished, one.replied);
  }
  return out + "]}";
}

}  // namespace trainyard::serve
