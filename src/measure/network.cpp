#include "measure/network.h"

#include "base/stopwatch.h"

namespace trainyard::measure {
Measured measure_inference(Graph graph, const MeasureOptions& options) {
  const int64_t batch = batch_of(graph);
  runtime::CompileOptions compile;
  compile.threads = options.threads;
  compile.reference_only = options.reference_only;
  compile.device = options.device;
  compile.max_iterations = options.max_iterations;
  const Stopwatch compiling;
  const runtime::Executable executable = runtime::compile(std::move(graph), compile);
  const double compile_s = compiling.seconds();
  runtime::ExecutionContext context(executable);
  runtime::fill_inputs(context, executable, /*seed=*/1);
  Measured measured{.executable = executable,
                    .profile = runtime::Profile(executable),
                    .compile_s = compile_s,
                    .batch = batch};
  measured.timing =
      runtime::time_runs([&](runtime::Profile* profile) { context.run(profile); }, options.warmup,
                         options.runs, options.profile ? &measured.profile : nullptr);
  return measured;
}

Measured measure_training(const Graph& graph, const MeasureOptions& options) {
  // Small enough for any network to survive.
  constexpr double kRate = 1e-4;
  train::StepOptions step;
  step.threads = options.threads;
  step.reference_only = options.reference_only;
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
