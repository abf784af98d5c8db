#include "engine/device/vector_target.h"

#include <algorithm>

#include "base/error.h"
#include "base/stopwatch.h"
#include "base/text.h"

namespace trainyard::device {
namespace {

constexpr int64_t kProbe = 1 << 18;
// A kernel this many times shorter than the limit tells nothing about the limit.
constexpr double kManyKernels = 32;
// The first kernel and a few after it.
constexpr double kFewestKernels = 4;

void scale_timing(VectorTiming& timing, double factor) {
  for (double* phase : {&timing.alloc_s, &timing.first_touch_s, &timing.to_device_s,
                        &timing.first_kernel_s, &timing.from_device_s, &timing.free_s}) {
    *phase *= factor;
  }
  for (double& sample : timing.kernel_s) sample *= factor;
}

// As many as `seconds` allow, judged by runs over more and more elements: over few, launches would
// count for more than elements.
int64_t elements_in_time(VectorTarget& target, const VectorCase& what, double seconds) {
  VectorRow probe{.what = what};
  for (int64_t elements = kProbe; elements < what.elements; elements *= 4) {
    probe.what.elements = elements;
    probe.timing = target.run(probe.what, 0);
    const double kernel = probe.kernel_least_s();
    if (kernel < seconds / kManyKernels) continue;
    const double fitting = static_cast<double>(elements) * seconds / (kFewestKernels * kernel);
    if (fitting >= static_cast<double>(what.elements)) break;
    return std::max(elements, static_cast<int64_t>(fitting));
  }
  return what.elements;
}

}  // namespace

std::vector<double> repeat_kernel(double seconds, const std::function<double()>& pass) {
  constexpr size_t kMost = 50;
  std::vector<double> samples;
  const Stopwatch watch;
  do {
    samples.push_back(pass());
  } while (samples.size() < kMost && watch.seconds() < seconds);
  return samples;
}

double vector_memory_needed(const VectorTarget& target, const VectorCase& what) {
  const bool twice = what.memory == "copies" && target.shares_host_memory();
  return vector_bytes(what.op, what.elements) * (twice ? 2 : 1);
}

void require_vector_memory(const VectorTarget& target, const VectorCase& what) {
  TY_REQUIRE(what.elements > 0, "a vector of {} elements: expected at least 1", what.elements);
  const double needed = vector_memory_needed(target, what);
  const double there = target.memory_bytes();
  TY_REQUIRE(there <= 0 || needed <= there,
             "{} of {} elements needs {}, and {} has {} free; try fewer elements",
             vector_op_name(what.op), with_commas(what.elements), bytes_text(needed), target.name(),
             bytes_text(there));
}

VectorRow time_vector_case(VectorTarget& target, const VectorCase& what, double seconds) {
  require_vector_memory(target, what);
  VectorRow row{.device = target.name(), .what = what};
  row.measured_elements = elements_in_time(target, what, seconds);
  VectorCase fitting = what;
  fitting.elements = row.measured_elements;
  row.timing = target.run(fitting, seconds / 2);
  if (row.measured_elements < what.elements) {
    row.origin = VectorOrigin::kExtrapolated;
    scale_timing(row.timing,
                 static_cast<double>(what.elements) / static_cast<double>(row.measured_elements));
  }
  return row;
}

double measure_limit(VectorTarget& target, double seconds) {
  constexpr int64_t kElements = 16 << 20;
  const VectorMemory memory = target.memories().front();
  double best = 0;
  for (const VectorOp op : kVectorOps) {
    for (const std::string& launch : target.launches(op)) {
      // Few threads reach no limit but their own, and would take long.
      if (launch == "scalar" || launch == "simd" || launch.starts_with("1x")) continue;
      VectorRow row{.what = {op, kElements, launch, memory.memory, memory.sharing}};
      if (vector_memory_needed(target, row.what) > target.memory_bytes()) continue;
      row.timing = target.run(row.what, seconds / 20);
      best = std::max(best, vector_bytes(op, kElements) / row.kernel_least_s());
    }
  }
  return best;
}

}  // namespace trainyard::device
