// Trainyard as a library: what a network costs, and its result on this machine.
#include <cstdio>
#include <trainyard/analysis/layers.h>
#include <trainyard/engine/bench.h>
#include <trainyard/engine/compiler.h>
#include <trainyard/models/zoo/model.h>

int main() {
  using namespace trainyard;
  Graph graph = models::build_model("lenet5");
  const auto table = analysis::analyze_layers(graph);
  std::printf("%s: %lld parameters, %lld multiply-adds\n", table.model.c_str(),
              static_cast<long long>(table.totals.params.trainable()),
              static_cast<long long>(table.totals.cost.macs));

  const runtime::Executable executable = runtime::compile(std::move(graph), {});
  runtime::ExecutionContext context(executable);
  runtime::fill_inputs(context, executable, /*seed=*/1);
  const auto timing =
      runtime::time_runs([&](runtime::Profile* p) { context.run(p); }, 3, 20, nullptr);
  std::printf("%.3f ms with %d threads\n", timing.median_s * 1e3, executable.threads());
}
