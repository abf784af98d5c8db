// If, Loop and Scan as they run, and plans that are kept by shape.
#include "engine/control_flow.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/body.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

const TensorType kCount{DType::kI64, {}};
const TensorType kFlag{DType::kBool, {}};

// value * 2 while the flag stays true.
Graph doubling(const Shape& shape) {
  Graph graph("body");
  ops::Builder b(graph);
  b.input("round", kCount);
  const ValueId flag = b.input("flag", kFlag);
  const ValueId value = b.input("value", {DType::kF32, shape});
  const ValueId twice = b.add("Add", {value, value});
  graph.set_outputs({flag, twice, value});
  return graph;
}

struct LoopGraph {
  Graph graph{"loop"};
  NodeId node;

  explicit LoopGraph(bool bounded) {
    ops::Builder b(graph);
    const ValueId most = bounded ? b.input("most", kCount) : kNoValue;
    const ValueId x = b.input("x", {DType::kF32, {1}});
    const auto body = std::make_shared<const Graph>(doubling({1}));
    const std::vector<ValueId> out =
        b.add_multi("Loop", {most, kNoValue, x}, 2, {{"body", body}, {"carried", int64_t{1}}});
    graph.set_outputs(out);
  }
};

TEST(Loop, CarriesAndGathers) {
  const Executable executable = compile(LoopGraph(true).graph, {});
  ExecutionContext context(executable);
  context.set_input(0, Tensor::scalar<int64_t>(3));
  const float one = 1;
  context.set_input(1, Tensor::of<float>({1}, {&one, 1}));
  context.run();
  EXPECT_EQ(context.output(0).values<float>()[0], 8);
  ASSERT_EQ(context.output(1).shape(), (Shape{3, 1}));
  EXPECT_EQ(context.output(1).values<float>()[2], 4);
}

TEST(Loop, WithoutEndIsStopped) {
  CompileOptions options;
  options.max_iterations = 50;
  ExecutionContext context(compile(LoopGraph(false).graph, options));
  try {
    context.run();
    FAIL() << "the loop ended";
  } catch (const Error& problem) {
    EXPECT_NE(std::string(problem.what()).find("`max_iterations`"), std::string::npos);
  }
}

// One output is computed, one is an input, one is what is known around the body.
Graph product_and_handed() {
  Graph graph("body");
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {1, 2}});
  const ValueId w = b.input("w", {DType::kF32, {2, 2}});
  graph.set_outputs({b.add("MatMul", {x, w}), b.add("Identity", {x}), b.add("Identity", {w})});
  return graph;
}

TEST(Body, KnowsConstantsAndHandsOnInputs) {
  const float numbers[] = {1, 2, 3, 4};
  const auto w = std::make_shared<const Tensor>(Tensor::of<float>({2, 2}, numbers));
  const std::shared_ptr<const Tensor> known[] = {nullptr, w};
  Body body(product_and_handed(), known, {}, PlanCache::kAnyBytes);
  const Tensor x = Tensor::of<float>({1, 2}, {numbers, 2});
  const Tensor* inputs[] = {&x, w.get()};
  const std::vector<Tensor> results = body.run_in_place(inputs);
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[0].values<float>()[0], 7);
  EXPECT_EQ(results[0].values<float>()[1], 10);
  EXPECT_EQ(results[1].data(), x.data());
  EXPECT_EQ(results[2].values<float>()[3], 4);
  EXPECT_NE(body.run(inputs)[1].data(), x.data());
}

// The memory of a value that a branch hands on is given to others after the branch.
TEST(If, WhatIsHandedOnOutlivesItsMemory) {
  Graph graph("around");
  ops::Builder b(graph);
  const auto branch = [](int64_t rows) {
    Graph inside("branch");
    ops::Builder c(inside);
    const ValueId x = c.input("x", {DType::kF32, {4}});
    const ValueId y =
        rows == 1 ? c.add("Identity", {x}) : c.add("Concat", {x, x}, {{"axis", int64_t{0}}});
    inside.set_outputs({y});
    return std::make_shared<const Graph>(inside);
  };
  const ValueId flag = b.input("flag", kFlag);
  const ValueId x = b.input("x", {DType::kF32, {4}});
  const ValueId twice = b.add("Add", {x, x});
  const ValueId chosen =
      b.add("If", {flag, twice, twice}, {{"then_branch", branch(1)}, {"else_branch", branch(2)}});
  const ValueId other = b.add("Exp", {b.add("Mul", {x, x})});
  graph.set_outputs({chosen, b.add("Exp", {other})});
  const Executable executable = compile(graph, {});
  ExecutionContext context(executable);
  const float ones[] = {1, 1, 1, 1};
  context.set_input(0, Tensor::scalar(true));
  context.set_input(1, Tensor::of<float>({4}, ones));
  context.run();
  for (const float value : context.output(0).values<float>()) EXPECT_EQ(value, 2);
}

}  // namespace
}  // namespace trainyard::runtime
