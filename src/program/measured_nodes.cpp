#include "program/measured_nodes.h"

#include <vector>

#include "base/stopwatch.h"
#include "engine/bench.h"
#include "engine/compiler.h"
#include "engine/executable.h"
#include "engine/profile.h"

namespace trainyard::cli {

MeasuredNodes measure_nodes(const Graph& network) {
  constexpr double kLongEnough = 0.8;
  constexpr int64_t kMostRuns = 50;
  const runtime::Executable executable = runtime::compile(Graph(network), {});
  runtime::ExecutionContext context(executable);
  runtime::fill_inputs(context, executable, /*seed=*/1);
  context.run();
  runtime::Profile profile(executable);
  const Stopwatch watch;
  MeasuredNodes measured;
  while (measured.runs == 0 || (watch.seconds() < kLongEnough && measured.runs < kMostRuns)) {
    context.run(&profile);
    ++measured.runs;
  }
  const std::vector<double> seconds = profile.step_seconds();
  for (size_t i = 0; i < seconds.size(); ++i) {
    const std::string& node = executable.steps()[i].node;
    if (network.find_node(node).valid()) {
      measured.seconds[node] += seconds[i];
    } else {
      measured.elsewhere_s += seconds[i];
    }
  }
  return measured;
}

}  // namespace trainyard::cli
