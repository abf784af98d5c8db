#include "train/network_timing.h"

#include <algorithm>
#include <functional>

#include "base/stopwatch.h"

namespace trainyard::measure {
namespace {

// Turns of a device and the processor: what disturbs the machine for a while meets both.
constexpr int64_t kTurns = 5;

runtime::CompileOptions compile_options(const MeasureOptions& options) {
  runtime::CompileOptions compile;
  compile.threads = options.threads;
  compile.reference_only = options.reference_only;
  compile.device = options.device;
  compile.max_iterations = options.max_iterations;
  compile.precision = options.precision;
  return compile;
}

using TimedRun = std::function<void(runtime::Profile*)>;

// Fills `timing` and `processor`.
void time_in_turns(const TimedRun& device, const TimedRun& host, const MeasureOptions& options,
                   Measured& measured) {
  runtime::Profile* profile = options.profile ? &measured.profile : nullptr;
  runtime::run_seconds(device, options.warmup, nullptr);
  runtime::run_seconds(host, options.warmup, nullptr);
  std::vector<double> on_device;
  std::vector<double> on_host;
  std::vector<double> ratios;
  const int64_t turns = std::min(kTurns, options.runs);
  for (int64_t turn = 0; turn < turns; ++turn) {
    const int64_t runs = options.runs * (turn + 1) / turns - options.runs * turn / turns;
    // The first of a turn finds the caches full of the other's numbers: it does not count.
    device(nullptr);
    const std::vector<double> slow = runtime::run_seconds(device, runs, profile);
    host(nullptr);
    const std::vector<double> fast = runtime::run_seconds(host, runs, nullptr);
    ratios.push_back(runtime::summarize(slow).median_s / runtime::summarize(fast).median_s);
    on_device.insert(on_device.end(), slow.begin(), slow.end());
    on_host.insert(on_host.end(), fast.begin(), fast.end());
  }
  measured.timing = runtime::summarize(std::move(on_device));
  HostTimes beside{.timing = runtime::summarize(std::move(on_host)), .turns = turns};
  beside.times_slower = measured.timing.median_s / beside.timing.median_s;
  beside.least = *std::min_element(ratios.begin(), ratios.end());
  beside.most = *std::max_element(ratios.begin(), ratios.end());
  measured.processor = beside;
}

}  // namespace

Measured measure_inference(Graph graph, const MeasureOptions& options) {
  const int64_t batch = batch_of(graph);
  std::optional<Graph> again;
  if (options.device != nullptr) again = graph;
  const Stopwatch compiling;
  const runtime::Executable executable =
      runtime::compile(std::move(graph), compile_options(options));
  const double compile_s = compiling.seconds();
  runtime::ExecutionContext context(executable);
  runtime::fill_inputs(context, executable, /*seed=*/1);
  Measured measured{.executable = executable,
                    .profile = runtime::Profile(executable),
                    .compile_s = compile_s,
                    .batch = batch};
  if (again) {
    MeasureOptions on_host = options;
    on_host.device = nullptr;
    const runtime::Executable host = runtime::compile(std::move(*again), compile_options(on_host));
    runtime::ExecutionContext beside(host);
    runtime::fill_inputs(beside, host, /*seed=*/1);
    time_in_turns([&](runtime::Profile* profile) { context.run(profile); },
                  [&](runtime::Profile* profile) { beside.run(profile); }, options, measured);
    return measured;
  }
  measured.timing =
      runtime::time_runs([&](runtime::Profile* profile) { context.run(profile); }, options.warmup,
                         options.runs, options.profile ? &measured.profile : nullptr);
  // One run that does not count tells where the time goes.
  if (!options.profile) context.run(&measured.profile);
  return measured;
}

Measured measure_training(const Graph& graph, const MeasureOptions& options) {
  // Small enough for any network to survive.
  constexpr double kRate = 1e-4;
  train::StepOptions step;
  step.threads = options.threads;
  step.reference_only = options.reference_only;
  const ValueId scores = graph.outputs().empty() ? kNoValue : graph.outputs()[0];
  // Scores at each place of a row of tokens are those of the next.
  if (scores.valid() && graph.value(scores).type.shape.rank() == 3) {
    step.training.objective = train::make_objective(train::kNextToken);
  }
  step.device = options.device;
  step.precision = options.precision;
  const Stopwatch compiling;
  train::TrainingStep training(graph, step);
  const double compile_s = compiling.seconds();
  runtime::fill_random(training.input(0), /*seed=*/1);
  Measured measured{.executable = training.executable(),
                    .profile = runtime::Profile(training.executable()),
                    .compile_s = compile_s,
                    .batch = batch_of(graph)};
  std::vector<double> forward;
  std::vector<double> backward;
  std::vector<double> update;
  const auto run_step = [&](runtime::Profile* profile) {
    training.run(kRate, profile);
    forward.push_back(training.seconds().forward);
    backward.push_back(training.seconds().backward);
    update.push_back(training.seconds().update);
  };
  measured.timing = runtime::time_runs(run_step, options.warmup, options.runs,
                                       options.profile ? &measured.profile : nullptr);
  measured.phases = {.forward = runtime::summarize(forward).median_s,
                     .backward = runtime::summarize(backward).median_s,
                     .update = runtime::summarize(update).median_s};
  return measured;
}

}  // namespace trainyard::measure
