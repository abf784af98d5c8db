// Moments of weights whose gradients have become 0.
#include <gtest/gtest.h>

#include "engine/compiler.h"
#include "engine/executable.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

TEST(TinyMoments, BecomeZeroInsteadOfStayingBelowTheNormalRange) {
  const TensorType row{DType::kF32, Shape{19}};
  Graph graph("step");
  ops::Builder builder(graph);
  const ValueId rate = builder.input("rate", {DType::kF32, Shape{}});
  const ValueId count = builder.input("count", {DType::kI64, Shape{}});
  std::vector<ValueId> inputs = {rate, count};
  for (const char* name : {"weight", "gradient", "mean", "square"}) {
    inputs.push_back(builder.input(name, row));
  }
  graph.set_outputs(builder.add_multi("Adam", inputs, 3));
  ExecutionContext context(compile(graph, {}));
  context.input(0).values<float>()[0] = 0.1F;
  context.input(1).values<int64_t>()[0] = 5;
  constexpr float kTiny = 1e-40F;
  for (const size_t moment : {4U, 5U}) {
    for (float& value : context.input(moment).values<float>()) value = kTiny;
  }
  context.run();
  for (const size_t moment : {1U, 2U}) {
    for (const float value : context.output(moment).values<float>()) EXPECT_EQ(value, 0.0F);
  }
  // Whoever ran it counts on.
  volatile float tiny = kTiny;
  EXPECT_GT(tiny * 0.5F, 0.0F);
}

}  // namespace
}  // namespace trainyard::runtime
