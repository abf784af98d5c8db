#include "engine/host_nodes.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/device/device.h"
#include "engine/program.h"

namespace trainyard::runtime {
namespace {

// The kernels of devices are asked first.
const Refusal* refusal_of_device(const StepInfo& step) {
  if (step.refusals.empty()) return nullptr;
  const Refusal& first = step.refusals.front();
  return first.library == "torch" || first.library == "device" ? &first : nullptr;
}

}  // namespace

std::vector<HostNodes> nodes_left_to_host(const Executable& executable) {
  std::vector<HostNodes> left;
  for (const StepInfo& step : executable.steps()) {
    const Refusal* refusal = refusal_of_device(step);
    if (refusal == nullptr) continue;
    auto found = std::ranges::find(left, step.op, &HostNodes::op);
    if (found == left.end()) found = left.insert(left.end(), {step.op, refusal->reason, 0});
    ++found->count;
  }
  return left;
}

std::string host_nodes_text(const Executable& executable) {
  std::vector<std::string> parts;
  int64_t count = 0;
  for (const HostNodes& nodes : nodes_left_to_host(executable)) {
    parts.push_back(fmt::format("{} ({}; {})", nodes.op, nodes.count, nodes.reason));
    count += nodes.count;
  }
  if (parts.empty()) return "";
  return fmt::format("{} of {} steps run on the processors, with copies from and to {}: {}", count,
                     executable.steps().size(), executable.program().device->info().name,
                     join(parts, ", "));
}

}  // namespace trainyard::runtime
