// The packed recurrent layers against the reference, and with one thread and two.
#include <cstring>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/graph_runner.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

struct RecurrentCase {
  std::string op;
  std::string direction;
  int64_t batch, input, hidden;
  int64_t length = 5;
};

Graph recurrent_graph(const RecurrentCase& c) {
  const int64_t gates = c.op == "LSTM" ? 4 : (c.op == "GRU" ? 3 : 1);
  const int64_t ways = c.direction == "bidirectional" ? 2 : 1;
  Graph graph;
  ops::Builder b(graph);
  Attributes attributes = {{"hidden_size", c.hidden}, {"direction", c.direction}};
  if (c.op == "GRU") attributes.emplace("linear_before_reset", int64_t{1});
  const ValueId x = b.input("x", {DType::kF32, {c.length, c.batch, c.input}});
  const ValueId w = b.constant("w", random_tensor({ways, gates * c.hidden, c.input}, 3));
  const ValueId r = b.constant("r", random_tensor({ways, gates * c.hidden, c.hidden}, 4));
  const ValueId bias = b.constant("b", random_tensor({ways, 2 * gates * c.hidden}, 5));
  // Small weights: sums of hundreds of terms would only say which gates are open.
  const auto small = [&](ValueId v) {
    return b.add("Mul", {v, b.constant("", Tensor::scalar(0.1F))});
  };
  graph.set_outputs(b.add_multi(c.op, {x, small(w), small(r), bias}, 2, attributes, "node"));
  return graph;
}

// Few and many rows, blocks that are full and not, weights that exceed a core's own cache, of
// which both threads then have a part, and sequences long enough to multiply inputs ahead, of more
// and fewer numbers than steps ahead.
std::vector<RecurrentCase> recurrent_cases() {
  std::vector<RecurrentCase> cases;
  for (const std::string op : {"LSTM", "GRU", "RNN"}) {
    for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
      cases.push_back({op, direction, 1, 7, 20});
      cases.push_back({op, direction, 16, 33, 48});
      cases.push_back({op, direction, 3, 130, 100});
      cases.push_back({op, direction, 1, 33, 48, 26});
      cases.push_back({op, direction, 1, 3, 20, 35});
      cases.push_back({op, direction, 1, 300, 280, 14});
    }
    cases.push_back({op, "bidirectional", 1, 24, 280});
    cases.push_back({op, "forward", 1, 24, 280});
    cases.push_back({op, "bidirectional", 5, 24, 280});
  }
  return cases;
}

TEST(RecurrentKernels, EqualTheReference) {
  for (const RecurrentCase& c : recurrent_cases()) {
    SCOPED_TRACE(fmt::format("{} {} batch {} hidden {} length {}", c.op, c.direction, c.batch,
                             c.hidden, c.length));
    const Graph graph = recurrent_graph(c);
    const std::vector<Tensor> fast = run_graph(graph, /*reference=*/false);
    const std::vector<Tensor> reference = run_graph(graph, /*reference=*/true);
    ASSERT_EQ(fast.size(), reference.size());
    for (size_t i = 0; i < fast.size(); ++i) {
      EXPECT_LE(relative_error(fast[i], reference[i]), kSumTolerance);
    }
  }
}

TEST(RecurrentKernels, DoNotDependOnThreads) {
  for (const RecurrentCase& c : recurrent_cases()) {
    SCOPED_TRACE(fmt::format("{} {} batch {} hidden {} length {}", c.op, c.direction, c.batch,
                             c.hidden, c.length));
    const Graph graph = recurrent_graph(c);
    const std::vector<Tensor> one = run_graph(graph, /*reference=*/false, 1);
    const std::vector<Tensor> two = run_graph(graph, /*reference=*/false, 2);
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(std::memcmp(one[i].data(), two[i].data(), static_cast<size_t>(one[i].num_bytes())),
                0);
    }
  }
}

}  // namespace
}  // namespace trainyard::runtime
