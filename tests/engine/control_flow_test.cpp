// If, Loop and Scan as they run, and plans that are kept by shape.
#include "engine/control_flow.h"

#include <gtest/gtest.h>

#include "base/error.h"
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
    EXPECT_NE(std::string(problem.what()).find("--max-iterations"), std::string::npos);
  }
}

}  // namespace
}  // namespace trainyard::runtime
