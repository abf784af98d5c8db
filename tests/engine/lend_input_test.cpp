// Inputs that are read where the caller has them.
#include <cstring>
#include <memory>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/graph_runner.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

Graph convolution_of_pictures() {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2, 3, 12, 12}});
  const ValueId w = b.constant("w", random_tensor({16, 3, 3, 3}, 1));
  graph.set_outputs({b.add("Relu", {b.add("Conv", {x, w})})});
  return graph;
}

// Memory of the caller that begins `offset` bytes after an aligned address.
Tensor at_offset(const Tensor& values, int64_t offset) {
  auto memory = std::make_shared<Tensor>(DType::kU8, Shape{values.num_bytes() + offset});
  void* data = static_cast<std::byte*>(memory->data()) + offset;
  std::memcpy(data, values.data(), static_cast<size_t>(values.num_bytes()));
  return {values.type(), std::shared_ptr<void>(memory), data};
}

TEST(LendInput, GivesTheResultOfACopyAtAnyAddress) {
  for (const bool reference : {false, true}) {
    const Executable executable = compile_graph(convolution_of_pictures(), reference);
    ExecutionContext copied(executable);
    ExecutionContext lent(executable);
    for (const int64_t offset : {0, 4, 16, 28}) {
      const Tensor x = random_tensor({2, 3, 12, 12}, 7 + static_cast<uint64_t>(offset));
      copied.set_input(0, x);
      copied.run();
      lent.lend_input(0, at_offset(x, offset));
      lent.run();
      EXPECT_EQ(relative_error(lent.output(0), copied.output(0)), 0) << "offset " << offset;
    }
  }
}

TEST(LendInput, ReadsWithoutACopy) {
  const Executable executable = compile_graph(convolution_of_pictures(), /*reference=*/true);
  ExecutionContext context(executable);
  Tensor x = random_tensor({2, 3, 12, 12}, 3);
  context.lend_input(0, x);
  context.run();
  const Tensor first = context.output(0).clone();
  for (float& value : x.values<float>()) value *= 2;
  context.run();
  EXPECT_GT(relative_error(context.output(0), first), 0.1);
}

TEST(LendInput, WhatIsSetLaterLeavesTheCallersMemoryAlone) {
  const Executable executable = compile_graph(convolution_of_pictures(), /*reference=*/false);
  ExecutionContext context(executable);
  const Tensor x = random_tensor({2, 3, 12, 12}, 3);
  const Tensor before = x.clone();
  context.lend_input(0, x);
  context.run();
  const Tensor expected = context.output(0).clone();
  context.set_input(0, random_tensor({2, 3, 12, 12}, 4));
  context.run();
  EXPECT_GT(relative_error(context.output(0), expected), 0);
  EXPECT_EQ(relative_error(x, before), 0);
  EXPECT_NE(context.input(0).data(), x.data());
}

TEST(LendInput, AResultThatIsTheInputIsCopied) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2, 8}});
  graph.set_outputs({b.add("Flatten", {x}), b.add("Relu", {x})});
  ExecutionContext context(compile_graph(graph, /*reference=*/false));
  Tensor values = random_tensor({2, 8}, 3);
  const Tensor before = values.clone();
  context.lend_input(0, values);
  context.run();
  for (float& value : values.values<float>()) value = 0;
  EXPECT_EQ(relative_error(context.output(0), before), 0);
}

TEST(LendInput, AnotherTypeIsAnErrorThatNamesTheInput) {
  ExecutionContext context(compile_graph(convolution_of_pictures(), /*reference=*/false));
  try {
    context.lend_input(0, random_tensor({2, 3, 12, 11}, 1));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("input 'x'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace trainyard::runtime
