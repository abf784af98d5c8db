#include "engine/profile.h"

#include <algorithm>

#include "base/json.h"

namespace trainyard::runtime {
namespace {

int64_t nanoseconds(Profile::Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

}  // namespace

Profile::Profile(const Executable& executable)
    : executable_(executable),
      start_(Clock::now()),
      nanoseconds_(executable.steps().size(), 0),
      counts_(executable.steps().size(), 0) {}

void Profile::record(size_t step, Clock::time_point begin, Clock::time_point end) {
  nanoseconds_[step] += nanoseconds(end - begin);
  ++counts_[step];
  if (events_.size() < kMaxEvents) {
    events_.push_back({step, nanoseconds(begin - start_), nanoseconds(end - begin)});
  }
}

std::vector<double> Profile::step_seconds() const {
  std::vector<double> seconds;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const auto runs = static_cast<double>(std::max<int64_t>(1, counts_[i]));
    seconds.push_back(static_cast<double>(nanoseconds_[i]) * 1e-9 / runs);
  }
  return seconds;
}

int64_t Profile::runs() const {
  return counts_.empty() ? 0 : counts_[0];
}

std::string Profile::trace_json() const {
  Json events = Json::array();
  for (const Event& event : events_) {
    const StepInfo& step = executable_.steps()[event.step];
    events.push_back(
        Json::object({{"name", step.node},
                      {"cat", step.op},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", static_cast<double>(event.begin_ns) * 1e-3},
                      {"dur", static_cast<double>(event.duration_ns) * 1e-3},
                      {"args", Json::object({{"kernel", step.kernel}, {"output", step.output}})}}));
  }
  return Json::object({{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}).dump(-1);
}

}  // namespace trainyard::runtime
