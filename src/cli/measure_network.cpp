#include "cli/measure_network.h"

#include <chrono>

#include "cli/model_argument.h"
#include "runtime/compiler.h"

namespace trainyard::cli {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Measured measure_inference(Graph graph, const MeasureOptions& options) {
  const int64_t batch = batch_of(graph);
  runtime::CompileOptions compile;
  compile.threads = options.threads;
  compile.reference_only = options.reference_only;
  const auto begin = std::chrono::steady_clock::now();
  const runtime::Executable executable = runtime::compile(std::move(graph), compile);
  const double compile_s = seconds_since(begin);
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
  train::StepOptions step_options;
  step_options.threads = options.threads;
  step_options.reference_only = options.reference_only;
  const auto begin = std::chrono::steady_clock::now();
  train::TrainingStep step(graph, step_options);
  const double compile_s = seconds_since(begin);
  runtime::fill_random(step.images(), /*seed=*/1);
  Measured measured{.executable = step.executable(),
                    .profile = runtime::Profile(step.executable()),
                    .compile_s = compile_s,
                    .batch = batch_of(graph)};
  std::vector<double> forward;
  std::vector<double> backward;
  std::vector<double> update;
  const auto run_step = [&](runtime::Profile* profile) {
    step.run(kRate, profile);
    forward.push_back(step.seconds().forward);
    backward.push_back(step.seconds().backward);
    update.push_back(step.seconds().update);
  };
  measured.timing = runtime::time_runs(run_step, options.warmup, options.runs,
                                       options.profile ? &measured.profile : nullptr);
  measured.phases = {.forward = runtime::summarize(forward).median_s,
                     .backward = runtime::summarize(backward).median_s,
                     .update = runtime::summarize(update).median_s};
  return measured;
}

}  // namespace trainyard::cli
