#include "cluster/transformer/goodput.h"

#include <cmath>

#include <gtest/gtest.h>

#include "cluster/transformer/device_counts.h"
#include "cluster/transformer/model_catalog.h"
#include "cluster/transformer/target.h"

namespace trainyard::transformer {
namespace {

// Young's rule holds where failures are seldom.
TEST(Goodput, TheBestIntervalIsYoungs) {
  const Reliability reliability{.device_hours = 50000, .save_seconds = 30, .restart_seconds = 300};
  const Goodput best = best_goodput(reliability, 1024);
  EXPECT_NEAR(best.failure_seconds, 50000.0 * 3600 / 1024, 1);
  EXPECT_NEAR(best.interval_seconds, std::sqrt(2 * 30 * best.failure_seconds), 60);
  for (const double other : {0.5, 2.0}) {
    EXPECT_LT(goodput_of(reliability, 1024, other * best.interval_seconds).share, best.share);
  }
  EXPECT_LT(best_goodput(reliability, 65536).share, best.share);
}

TEST(Goodput, CheckpointsHoldWeightsAndOptimizer) {
  const Transformer& model = model_of("llama-2-7b");
  EXPECT_NEAR(checkpoint_bytes(model, Mapping{}), 14 * 6738415616.0, 1);
  EXPECT_LT(checkpoint_bytes(model, Mapping{.lora = 16}), 1e9);
}

TEST(DeviceCountPlan, KeepsToTheDeadline) {
  const predict::Catalog catalog = predict::Catalog::built_in();
  const Machine machine = machine_of(catalog, "h100");
  const Factors& factors = stack_for("megatron-core", false).factors;
  Mapping wanted{.workers = 64, .batch = 256};
  wanted.sequence = 4096;
  TrainingGoal goal;
  goal.tokens = 1e11;
  goal.usd_per_hour = 2;
  const auto found = [&] {
    return plan_device_counts(model_of("llama-2-7b"), machine, factors, wanted, goal);
  };
  const double most = found().best_first.back().time.hours;
  goal.deadline_hours = most / 4;
  const DeviceCountPlan cheapest = found().best_first.front();
  EXPECT_TRUE(cheapest.good);
  EXPECT_LE(cheapest.time.hours, goal.deadline_hours);
  goal.budget_usd = 1.01 * cheapest.time.usd;
  EXPECT_LE(found().best_first.front().time.usd, goal.budget_usd);
  ASSERT_FALSE(found().unfit.empty());
  EXPECT_EQ(found().unfit.front().workers, 1);
  EXPECT_NE(found().unfit.front().reason.find("does not fit"), std::string::npos);
  goal.deadline_hours = 1e-3;
  EXPECT_FALSE(found().best_first.front().good);
}

TEST(Target, SamplesLieBetweenThePublishedOnes) {
  const Target* target = find_target("bert-large");
  ASSERT_NE(target, nullptr);
  EXPECT_NEAR(target->samples(448), 2408448, 1);
  EXPECT_GT(target->samples(768), 2408448);
  EXPECT_LT(target->samples(768), 2789376);
  EXPECT_GT(target->samples(32768), 5494272);
  ASSERT_TRUE(target->critical_batch());
  EXPECT_NEAR(*target->critical_batch(), 14000, 2000);
  EXPECT_EQ(find_target("gpt2"), nullptr);
}

}  // namespace
}  // namespace trainyard::transformer
