#include "studies/scaling/core_speed_probe.h"

#include <algorithm>

#include "base/stopwatch.h"
#include "engine/bench.h"
#include "engine/compiler.h"
#include "models/zoo/layers.h"

namespace trainyard::measure {
namespace {

// 3x3 filters as in most networks: 36 KiB of weights (64 KiB transformed) and 8 KiB of values.
Graph make_graph() {
  models::Net net("yardstick");
  models::ModelOptions options;
  options.batch = 1;
  options.image = 8;
  const ValueId image = net.image(options, /*channels=*/32);
  const ValueId out = net.conv(image, "conv", {.out = 32, .kernel = 3, .pad = 1});
  return net.finish({{.value = out, .name = "output"}});
}

runtime::Executable compile_graph(int threads) {
  runtime::CompileOptions options;
  options.threads = threads;
  return runtime::compile(make_graph(), options);
}

}  // namespace

CoreSpeedProbe::CoreSpeedProbe(int threads)
    : executable_(compile_graph(threads)), context_(executable_) {
  runtime::fill_inputs(context_, executable_, /*seed=*/1);
}

int64_t CoreSpeedProbe::rounds_in(double seconds) {
  constexpr int64_t kTrial = 50;
  run(kTrial);
  return std::max(int64_t{1}, static_cast<int64_t>(seconds / run(kTrial) * kTrial));
}

double CoreSpeedProbe::run(int64_t rounds) {
  const Stopwatch watch;
  for (int64_t i = 0; i < rounds; ++i) context_.run();
  return watch.seconds();
}

}  // namespace trainyard::measure
