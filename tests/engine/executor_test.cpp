#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/graph_runner.h"
#include "engine/memory_plan.h"
#include "engine/profile.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

using ops::Builder;
using ExecutorInts = std::vector<int64_t>;

ValueId conv(Builder& b, ValueId x, int64_t filters, int64_t kernel, uint64_t seed) {
  const ValueId w = b.constant("w", random_tensor({filters, b.shape(x)[1], kernel, kernel}, seed));
  const int64_t pad = kernel / 2;
  return b.add("Conv", {x, w}, {{"pads", ExecutorInts{pad, pad, pad, pad}}});
}

// Branches, nested concatenation, a residual whose input is used again, views and a reduction.
Graph branching_graph(int64_t batch) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {batch, 8, 10, 10}});
  const ValueId a = b.add("Relu", {conv(b, x, 16, 3, 1)});
  const ValueId c = b.add("Relu", {conv(b, a, 16, 1, 2)});
  const ValueId first = b.add("Concat", {a, c}, {{"axis", int64_t{1}}});
  const ValueId d = b.add("Relu", {conv(b, first, 16, 3, 3)});
  const ValueId second = b.add("Concat", {first, d, a}, {{"axis", int64_t{1}}});
  const ValueId e = conv(b, second, 64, 1, 4);
  const ValueId sum = b.add("Relu", {b.add("Add", {e, second})});
  const ValueId pooled = b.add(
      "MaxPool", {sum}, {{"kernel_shape", ExecutorInts{2, 2}}, {"strides", ExecutorInts{2, 2}}});
  const ValueId flat = b.add("Flatten", {b.add("GlobalAveragePool", {pooled})});
  graph.set_outputs({flat, b.add("Sigmoid", {second})});
  return graph;
}

TEST(Executor, BranchesConcatenationsAndResidualsGiveTheReference) {
  for (const int64_t batch : {1, 3}) {
    const Graph graph = branching_graph(batch);
    const std::vector<Tensor> fast = run_graph(graph, /*reference=*/false);
    const std::vector<Tensor> reference = run_graph(graph, /*reference=*/true);
    ASSERT_EQ(fast.size(), 2U);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_LE(relative_error(fast[i], reference[i]), kSumTolerance) << "batch " << batch;
    }
  }
}

TEST(Executor, ConcatenationOfOneImageCopiesOnlyWhatIsUsedTwice) {
  const Executable executable = compile_graph(branching_graph(1), /*reference=*/false);
  int copies = 0;
  for (const StepInfo& step : executable.steps()) {
    if (step.op == "Concat") {
      EXPECT_EQ(step.kernel, "view");
    }
    copies += step.op == "Reorder" && step.node.starts_with("conv") ? 1 : 0;
  }
  EXPECT_EQ(copies, 1);  // `a` is part of both concatenations
}

TEST(Executor, RunsAreRepeatableBitByBit) {
  const Executable executable = compile_graph(branching_graph(2), /*reference=*/false);
  ExecutionContext context(executable);
  const std::vector<Tensor> inputs = [] {
    std::vector<Tensor> list;
    list.push_back(random_tensor({2, 8, 10, 10}, 5));
    return list;
  }();
  const std::vector<Tensor> first = run_once(context, inputs);
  for (int i = 0; i < 5; ++i) {
    const std::vector<Tensor> again = run_once(context, inputs);
    for (size_t j = 0; j < first.size(); ++j) {
      EXPECT_EQ(
          std::memcmp(first[j].data(), again[j].data(), static_cast<size_t>(first[j].num_bytes())),
          0);
    }
  }
}

TEST(Executor, OneExecutableRunsInSeveralThreads) {
  const Executable executable = compile_graph(branching_graph(1), /*reference=*/false, 1);
  const auto run_with = [&](uint64_t seed) {
    ExecutionContext context(executable);
    context.set_input(0, random_tensor({1, 8, 10, 10}, seed));
    std::vector<Tensor> results;
    for (int i = 0; i < 20; ++i) {
      context.run();
      results.push_back(context.output(0).clone());
    }
    return results;
  };
  std::vector<std::vector<Tensor>> alone;
  for (uint64_t seed = 0; seed < 4; ++seed) alone.push_back(run_with(seed));
  std::vector<std::vector<Tensor>> together(4);
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] { together[seed] = run_with(seed); });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t seed = 0; seed < 4; ++seed) {
    for (size_t i = 0; i < together[seed].size(); ++i) {
      EXPECT_EQ(relative_error(together[seed][i], alone[seed][0]), 0.0);
    }
  }
}

TEST(Executor, WrongInputIsNamedWithBothTypes) {
  Graph graph;
  Builder b(graph);
  graph.set_outputs({b.add("Relu", {b.input("image", {DType::kF32, {1, 3}})})});
  ExecutionContext context(compile_graph(graph, /*reference=*/false));
  try {
    context.set_input(0, Tensor::zeros({DType::kF32, {1, 4}}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "input 'image' is f32[1,4], expected f32[1,3]");
  }
}

TEST(Executor, OutputsMayBeInputsConstantsAndViews) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2, 3}});
  const ValueId c = b.constant("c", random_tensor({2}, 1));
  const ValueId shape = b.constant_ints("shape", std::array<int64_t, 1>{6});
  graph.set_outputs({x, c, b.add("Reshape", {x, shape}), b.add("Identity", {x})});
  const std::vector<Tensor> outputs = run_graph(graph, /*reference=*/false);
  EXPECT_EQ(outputs[2].shape(), (Shape{6}));
  EXPECT_EQ(relative_error(outputs[0], outputs[3]), 0.0);
  EXPECT_EQ(relative_error(outputs[1], random_tensor({2}, 1)), 0.0);
}

TEST(Executor, FusesAndExplains) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {1, 8, 6, 6}});
  graph.set_outputs({b.add("Relu", {conv(b, x, 8, 3, 1)})});
  const Executable executable = compile_graph(graph, /*reference=*/false);
  bool found = false;
  for (const StepInfo& step : executable.steps()) {
    EXPECT_NE(step.op, "Relu");
    found = found || step.op == "FusedConv";
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(executable.constant_bytes(), 0);  // packed by the kernel, the original freed
  const Executable plain = compile_graph(graph, /*reference=*/true);
  for (const StepInfo& step : plain.steps()) EXPECT_EQ(step.kernel, "reference");
}

TEST(Profile, CountsStepsAndWritesATrace) {
  const Executable executable = compile_graph(branching_graph(1), /*reference=*/false);
  ExecutionContext context(executable);
  Profile profile(executable);
  context.run(&profile);
  context.run(&profile);
  EXPECT_EQ(profile.runs(), 2);
  EXPECT_EQ(profile.step_seconds().size(), executable.steps().size());
  EXPECT_NE(profile.trace_json().find("\"traceEvents\""), std::string::npos);
}

TEST(MemoryPlan, BuffersThatLiveTogetherNeverOverlap) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const RandomStream random(seed);
    std::vector<BufferRequest> requests;
    for (uint64_t i = 0; i < 40; ++i) {
      const size_t first = random.below(3 * i, 60);
      requests.push_back({.bytes = static_cast<int64_t>(random.below(3 * i + 1, 5000)),
                          .first = first,
                          .last = first + random.below(3 * i + 2, 12)});
    }
    const MemoryPlan plan = plan_memory(requests);
    int64_t most = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(plan.offsets[i] % static_cast<int64_t>(Tensor::kAlignment), 0);
      EXPECT_LE(plan.offsets[i] + requests[i].bytes, plan.total_bytes);
      most += requests[i].bytes + static_cast<int64_t>(Tensor::kAlignment);
      for (size_t j = 0; j < i; ++j) {
        const bool together =
            requests[i].first <= requests[j].last && requests[j].first <= requests[i].last;
        const bool apart = plan.offsets[i] + requests[i].bytes <= plan.offsets[j] ||
                           plan.offsets[j] + requests[j].bytes <= plan.offsets[i];
        EXPECT_TRUE(!together || apart) << "seed " << seed;
      }
    }
    EXPECT_LT(plan.total_bytes, most) << "seed " << seed;
  }
}

}  // namespace
}  // namespace trainyard::runtime
