// Compiling takes time in proportion to the nodes of a graph, not to their square.
#include <ctime>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/graph_runner.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

using ops::Builder;

// Of this process alone: others may have the cores meanwhile.
double processor_seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Results that are written over their inputs.
Graph chain_of(int64_t nodes) {
  Graph graph;
  Builder b(graph);
  ValueId x = b.input("x", {DType::kF32, {1, 16}});
  for (int64_t i = 0; i < nodes; ++i) x = b.add(i % 2 == 0 ? "Sin" : "Tanh", {x});
  graph.set_outputs({x});
  return graph;
}

// Constants that are folded into those before them, and layouts that differ.
Graph residual_of(int64_t nodes) {
  constexpr int64_t kChannels = 8, kInLayer = 5;
  Graph graph;
  Builder b(graph);
  ValueId x = b.input("x", {DType::kF32, {1, kChannels, 4, 4}});
  const Tensor weights = random_tensor({kChannels, kChannels, 1, 1}, 1);
  const Tensor factors = random_tensor({kChannels, 1, 1}, 2);
  for (int64_t i = 0; i < nodes / kInLayer; ++i) {
    const ValueId conv = b.add("Conv", {x, b.constant("w", weights.clone())});
    const ValueId scaled = b.add("Mul", {conv, b.constant("f", factors.clone())});
    const ValueId moved = b.add("Add", {scaled, b.constant("s", factors.clone())});
    x = b.add("Softmax", {b.add("Add", {x, moved})});
  }
  graph.set_outputs({x});
  return graph;
}

double compile_seconds(const Graph& graph) {
  const double begin = processor_seconds();
  compile_graph(graph, false, 1);
  return processor_seconds() - begin;
}

TEST(Growth, CompilingIsLinearInTheNodes) {
  constexpr int64_t kFew = 1000, kTimes = 16;
  // Caches cost up to 1.8; passes that were quadratic cost 2.9 to 3.8 at this size.
  constexpr double kMost = 2.5;
  for (const auto& [name, make] : {std::pair{"chain", &chain_of}, {"residual", &residual_of}}) {
    const Graph few = make(kFew);
    const Graph many = make(kFew * kTimes);
    double per_node[2] = {1e9, 1e9};
    for (int turn = 0; turn < 3; ++turn) {
      per_node[0] = std::min(per_node[0], compile_seconds(few) / kFew);
      if (per_node[1] <= kMost * per_node[0]) continue;  // the large one once, if that will do
      per_node[1] = std::min(per_node[1], compile_seconds(many) / (kFew * kTimes));
    }
    const double growth = per_node[1] / per_node[0];
    EXPECT_LE(growth, kMost) << fmt::format("{}: {:.1f} and {:.1f} us for a node", name,
                                            per_node[0] * 1e6, per_node[1] * 1e6);
    RecordProperty(name, fmt::format("{:.2f}", growth));
  }
}

}  // namespace
}  // namespace trainyard::runtime
