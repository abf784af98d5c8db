// States: values that a context keeps and each run replaces.
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/graph_runner.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

using ops::Builder;

Executable compile_states(const Graph& graph, std::vector<StateUpdate> states,
                          bool reference = false) {
  CompileOptions options;
  options.threads = 2;
  options.reference_only = reference;
  options.states = std::move(states);
  return compile(graph, options);
}

float first(const Tensor& tensor) {
  return tensor.values<float>()[0];
}

TEST(State, EachRunStartsWhereTheLastEnded) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {4}});
  const ValueId sum = b.parameter("sum", {4}, init_constant(7));
  const ValueId next = b.add("Add", {sum, x});
  const ValueId y = b.add("Mul", {next, x});
  graph.set_outputs({y});
  ExecutionContext context(compile_states(graph, {{sum, next}}));
  const std::vector<float> ones(4, 1.0F);
  context.set_input(0, Tensor::of<float>({4}, ones));
  for (int i = 1; i <= 3; ++i) {
    context.run();
    EXPECT_EQ(first(context.state(0)), static_cast<float>(i));
    EXPECT_EQ(first(context.output(0)), static_cast<float>(i));
  }
  const std::vector<float> tens(4, 10.0F);
  context.set_state(0, Tensor::of<float>({4}, tens));
  context.run();
  EXPECT_EQ(first(context.state(0)), 11.0F);
}

TEST(State, OldValueIsReadBeforeItIsReplaced) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {4}});
  const ValueId sum = b.parameter("sum", {4}, init_constant(0));
  const ValueId next = b.add("Add", {sum, x});
  // Reads the old value after the new one is there.
  const ValueId y = b.add("Sub", {sum, next});
  graph.set_outputs({y, next});
  ExecutionContext context(compile_states(graph, {{sum, next}}));
  const std::vector<float> ones(4, 1.0F);
  context.set_input(0, Tensor::of<float>({4}, ones));
  for (int i = 1; i <= 2; ++i) {
    context.run();
    EXPECT_EQ(first(context.output(0)), -1.0F);
    EXPECT_EQ(first(context.output(1)), static_cast<float>(i));
    EXPECT_EQ(first(context.state(0)), static_cast<float>(i));
  }
}

TEST(State, StatesThatOnlyChangePlacesAreRefused) {
  Graph graph;
  Builder b(graph);
  const ValueId a = b.parameter("a", {2}, init_constant(0));
  const ValueId c = b.parameter("c", {2}, init_constant(0));
  const ValueId new_a = b.add("Identity", {c});
  const ValueId new_c = b.add("Identity", {a});
  graph.set_outputs({b.add("Add", {a, c})});
  EXPECT_THROW(compile_states(graph, {{a, new_a}, {c, new_c}}), Error);
}

// A convolution whose filter is a state in whatever layout its kernel likes: the filter read back
// is the filter set, and the update is the reference's.
TEST(State, FiltersLieAsTheirKernelsWantThem) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2, 5, 9, 9}});
  const ValueId w = b.parameter("w", {12, 5, 3, 3}, init_constant(0));
  const ValueId y = b.add("Conv", {x, w});
  const ValueId half = b.constant_scalar("half", 0.5F);
  const ValueId next = b.add("Mul", {w, half});
  graph.set_outputs({y});
  const Tensor filter = random_tensor({12, 5, 3, 3}, 3);
  std::vector<Tensor> results;
  for (const bool reference : {true, false}) {
    ExecutionContext context(compile_states(graph, {{w, next}}, reference));
    context.set_input(0, random_tensor({2, 5, 9, 9}, 4));
    context.set_state(0, filter);
    EXPECT_EQ(relative_error(context.state(0), filter), 0.0);
    context.run();
    EXPECT_EQ(first(context.state(0)), 0.5F * first(filter));
    context.run();
    results.push_back(context.output(0).clone());
  }
  EXPECT_LE(relative_error(results[1], results[0]), kSumTolerance);
}

TEST(State, OnlyItsOwnerReplacesOneWithoutANewValue) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {4}});
  const ValueId kept = b.parameter("kept", {4}, init_constant(0));
  const ValueId sum = b.parameter("sum", {4}, init_constant(0));
  const ValueId next = b.add("Add", {sum, x});
  graph.set_outputs({b.add("Mul", {next, kept})});
  ExecutionContext context(compile_states(graph, {{kept, kNoValue}, {sum, next}}));
  const std::vector<float> twos(4, 2.0F);
  context.set_input(0, Tensor::of<float>({4}, twos));
  context.set_state(0, Tensor::of<float>({4}, twos));
  for (int i = 1; i <= 2; ++i) {
    context.run();
    EXPECT_EQ(first(context.state(0)), 2.0F);
    EXPECT_EQ(first(context.output(0)), static_cast<float>(4 * i));
  }
}

TEST(State, WrongTypeIsRefusedByName) {
  Graph graph;
  Builder b(graph);
  const ValueId sum = b.parameter("sum", {4}, init_constant(0));
  graph.set_outputs({b.add("Neg", {sum})});
  ExecutionContext context(compile_states(graph, {{sum, graph.outputs()[0]}}));
  try {
    context.set_state(0, Tensor::zeros({DType::kF32, {3}}));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'sum'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace trainyard::runtime
