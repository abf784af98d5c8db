// The peaks of a device of libtorch, measured through the engine.
#include <algorithm>

#include "engine/bench.h"
#include "engine/compiler.h"
#include "engine/profile.h"
#include "ops/builder.h"
#include "studies/calibration/calibration.h"

namespace trainyard::measure {
namespace {

constexpr double kLongEnough = 0.02;  // seconds

// Of one node over two inputs of this shape, without the copies of its inputs to the device.
double fastest_run(const char* op, const Shape& shape, const std::shared_ptr<device::Device>& on,
                   int threads) {
  Graph graph;
  ops::Builder builder(graph);
  const ValueId a = builder.input("a", {DType::kF32, shape});
  const ValueId b = builder.input("b", {DType::kF32, shape});
  graph.set_outputs({builder.add(op, {a, b})});
  runtime::CompileOptions options;
  options.threads = threads;
  options.device = on;
  const runtime::Executable executable = runtime::compile(std::move(graph), options);
  runtime::ExecutionContext context(executable);
  runtime::fill_inputs(context, executable, /*seed=*/1);
  context.run();
  constexpr int kRuns = 3;
  double fastest = 0;
  for (int run = 0; run < kRuns; ++run) {
    runtime::Profile profile(executable);
    context.run(&profile);
    const std::vector<double> seconds = profile.step_seconds();
    for (size_t i = 0; i < seconds.size(); ++i) {
      if (executable.steps()[i].op != op) continue;
      fastest = run == 0 ? seconds[i] : std::min(fastest, seconds[i]);
    }
  }
  return fastest;
}

}  // namespace

DevicePeak measure_device_peak(const std::shared_ptr<device::Device>& device, int threads) {
  DevicePeak peak;
  double seconds = 0;
  constexpr int64_t kLargestMatrix = 8192;
  for (int64_t n = 512; n <= kLargestMatrix && seconds < kLongEnough; n *= 2) {
    seconds = fastest_run("MatMul", {n, n}, device, threads);
    const auto side = static_cast<double>(n);
    peak.flops_per_s = std::max(peak.flops_per_s, 2 * side * side * side / seconds);
  }
  seconds = 0;
  // The last alone counts: shorter rows fit into caches.
  constexpr int64_t kLongestRow = int64_t{1} << 26;
  for (int64_t n = int64_t{1} << 22; n <= kLongestRow && seconds < kLongEnough; n *= 2) {
    seconds = fastest_run("Add", {n}, device, threads);
    constexpr double kBytes = 3 * sizeof(float);
    peak.bytes_per_s = kBytes * static_cast<double>(n) / seconds;
  }
  return peak;
}

}  // namespace trainyard::measure
