#include "engine/profile.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/json.h"
#include "engine/kernels/kernel_table.h"
#include "ops/control_flow.h"

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

namespace {

// A late node may have a fast kernel that finds the size of its result as well.
bool is_slow(const StepInfo& step) {
  if (step.kernel.starts_with("reference")) return true;
  if (step.kernel != "late" || ops::is_control_flow(step.op)) return false;
  const auto kernels = kernels::kernels_of(step.op);
  return std::none_of(kernels.begin(), kernels.end(), [](const kernels::KernelDef* kernel) {
    return kernel->make_outputs != nullptr;
  });
}

}  // namespace

std::vector<ReferenceShare> reference_shares(const Executable& executable, const Profile& profile) {
  const std::vector<double> seconds = profile.step_seconds();
  const double whole = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  std::map<std::string, double> shares;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const StepInfo& step = executable.steps()[i];
    if (whole > 0 && is_slow(step)) shares[step.op] += seconds[i] / whole;
  }
  std::vector<ReferenceShare> list;
  for (const auto& [op, share] : shares) list.push_back({op, share});
  std::stable_sort(list.begin(), list.end(), [](const ReferenceShare& a, const ReferenceShare& b) {
    return a.share > b.share;
  });
  return list;
}

}  // namespace trainyard::runtime
