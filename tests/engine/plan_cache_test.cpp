#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/body.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

Graph relu_of_any_length(int64_t length) {
  Graph graph("any");
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {length}});
  graph.set_outputs({b.add("Relu", {x})});
  return graph;
}

Shape run_length(PlanCache& plans, int64_t length) {
  const Tensor input = Tensor::zeros({DType::kF32, {length}});
  const Tensor* inputs[] = {&input};
  return plans.run(inputs)[0].shape();
}

TEST(PlanCache, KeepsAPlanForEachShapeUpToALimit) {
  PlanCache plans = plans_of(relu_of_any_length(Shape::kUnknown), {});
  for (int64_t length = 1; length <= 6; ++length) {
    EXPECT_EQ(run_length(plans, length), Shape{length});
  }
  EXPECT_EQ(plans.num_plans(), PlanCache::kMostPlans);
}

TEST(PlanCache, TheLeastRecentlyUsedGoes) {
  int made = 0;
  PlanCache plans(
      [&](std::span<const Tensor* const> inputs) {
        ++made;
        return relu_of_any_length(inputs[0]->shape()[0]);
      },
      {}, /*most_plans=*/2);
  for (const int64_t length : {1, 2, 1, 3, 1}) run_length(plans, length);
  EXPECT_EQ(made, 3);
  run_length(plans, 2);
  EXPECT_EQ(made, 4);
}

// A plan of n numbers takes up to 12 n bytes: what goes in, what comes out, what lies between.
TEST(PlanCache, PlansShareTheirBytes) {
  PlanCache plans = plans_of(relu_of_any_length(Shape::kUnknown), {}, 6000);
  run_length(plans, 100);
  run_length(plans, 101);
  EXPECT_EQ(plans.num_plans(), 2U);
  run_length(plans, 450);
  EXPECT_EQ(plans.num_plans(), 1U);
  EXPECT_THROW(run_length(plans, 1000), Error);
  EXPECT_EQ(plans.num_plans(), 1U);
}

// As in a loop whose values grow.
TEST(PlanCache, SmallPlansStay) {
  PlanCache plans = plans_of(relu_of_any_length(Shape::kUnknown), {});
  plans.keep_small(8000);
  for (int64_t length = 1; length <= 10; ++length) run_length(plans, length);
  EXPECT_EQ(plans.num_plans(), 10U);
  run_length(plans, 600);
  run_length(plans, 601);
  EXPECT_LE(plans.num_plans(), PlanCache::kMostPlans);
}

TEST(PlanCache, AShapeThatCannotBeLeavesThePlansThatAre) {
  PlanCache plans(
      [](std::span<const Tensor* const> inputs) {
        const int64_t length = inputs[0]->shape()[0];
        TY_REQUIRE(length < 3, "length {}", length);
        return relu_of_any_length(length);
      },
      {}, /*most_plans=*/1);
  run_length(plans, 1);
  EXPECT_THROW(run_length(plans, 3), Error);
  EXPECT_EQ(plans.num_plans(), 1U);
  EXPECT_EQ(run_length(plans, 1), Shape{1});
}

}  // namespace
}  // namespace trainyard::runtime
