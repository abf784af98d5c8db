#include "cluster/transformer/step_time.h"

#include <map>

#include <gtest/gtest.h>

#include "base/error.h"
#include "cluster/transformer/model_catalog.h"
#include "cluster/transformer/nearest_row.h"
#include "cluster/transformer/plan.h"
#include "cluster/transformer/score.h"
#include "cluster/transformer/target.h"
#include "support/error_message.h"

namespace trainyard::transformer {
namespace {

const predict::Catalog& catalog() {
  static const predict::Catalog all = predict::Catalog::built_in();
  return all;
}

double seconds_of(const char* model, const char* device, const Mapping& mapping) {
  const Machine machine = machine_of(catalog(), device);
  return StepModel(model_of(model), machine, stack_for("megatron-core", false).factors,
                   mapping.sequence)
      .step(mapping)
      .total();
}

StepTime time_of(const Mapping& mapping) {
  const StepModel model(model_of("gpt2"), machine_of(catalog(), "a100"), usual_factors(),
                        mapping.sequence);
  return model.step(mapping);
}

Mapping eight() {
  Mapping mapping{.workers = 64, .batch = 256};
  mapping.sequence = 8192;
  return mapping;
}

TEST(StepTime, PrecisionsAreInOrder) {
  Mapping mapping = eight();
  double before = 1e300;
  for (const Number number :
       {Number::kFp32, Number::kTf32, Number::kHalf, Number::kFp8, Number::kFp4}) {
    mapping.number = number;
    const double seconds = seconds_of("llama-3-8b", "b200", mapping);
    EXPECT_LT(seconds, before) << number_name(number);
    before = seconds;
  }
}

TEST(StepTime, RecomputingTakesLongerAndMoreDevicesLess) {
  Mapping mapping = eight();
  const double plain = seconds_of("llama-3-8b", "h100", mapping);
  mapping.recompute = Recompute::kFull;
  const double again = seconds_of("llama-3-8b", "h100", mapping);
  EXPECT_GT(again, 1.2 * plain);
  EXPECT_LT(again, 1.4 * plain);
  mapping.recompute = Recompute::kNone;
  mapping.workers = 128;
  EXPECT_NEAR(seconds_of("llama-3-8b", "h100", mapping), plain / 2, 0.1 * plain);
}

TEST(StepTime, InterleavingShrinksTheBubble) {
  Mapping mapping = eight();
  mapping.pipeline = 8;
  const Machine machine = machine_of(catalog(), "h100");
  const StepModel model(model_of("llama-3-8b"), machine, usual_factors(), 8192);
  const double bubble = model.step(mapping).bubble;
  EXPECT_GT(bubble, 0);
  mapping.interleave = 4;
  EXPECT_LT(model.step(mapping).bubble, bubble);
}

TEST(StepTime, AZeroBubbleScheduleWaitsAThird) {
  Mapping mapping = eight();
  mapping.pipeline = 8;
  const StepModel model(model_of("llama-3-8b"), machine_of(catalog(), "h100"), usual_factors(),
                        8192);
  const StepTime plain = model.step(mapping);
  mapping.zero_bubble = true;
  const StepTime filled = model.step(mapping);
  EXPECT_LT(filled.bubble, plain.bubble);
  EXPECT_EQ(filled.matmul, plain.matmul);
  mapping.interleave = 2;
  EXPECT_NE(problem_of(model_of("llama-3-8b"), mapping).find("zero-bubble"), std::string::npos);
}

TEST(StepTime, AdaptersSaveTheGradientsOfWeights) {
  Mapping mapping = eight();
  mapping.tensor = 8;
  const StepModel model(model_of("llama-3-70b"), machine_of(catalog(), "h100"), usual_factors(),
                        8192);
  const StepTime all = model.step(mapping);
  mapping.lora = 16;
  const StepTime adapters = model.step(mapping);
  EXPECT_NEAR(adapters.matmul, all.matmul * 2 / 3, 1e-6 * all.matmul);
  EXPECT_EQ(adapters.attention, all.attention);
  EXPECT_LT(adapters.optimizer, all.optimizer / 50);
  // What is not computed is no utilization.
  EXPECT_LT(model.mfu(mapping, 1), 0.75 * model.mfu(eight(), 1));
}

TEST(StepTime, WhatIsOffloadedTakesTheLinkToTheHost) {
  Mapping mapping = eight();
  const double plain = seconds_of("llama-3-8b", "h100", mapping);
  for (const Offload offload : {Offload::kOptimizer, Offload::kActivations, Offload::kBoth}) {
    mapping.offload = offload;
    EXPECT_GT(seconds_of("llama-3-8b", "h100", mapping), plain) << offload_name(offload);
  }
}

TEST(StepTime, UtilizationIsFlopsOverPeak) {
  const Machine machine = machine_of(catalog(), "h100");
  const StepModel model(model_of("llama-3-8b"), machine, usual_factors(), 8192);
  Mapping mapping = eight();
  const double flops = token_flops(model_of("llama-3-8b"), 8192).training();
  EXPECT_NEAR(model.mfu(mapping, 10), 256.0 * 8192 * flops / (10 * 64 * 989.4e12), 1e-9);
  mapping.recompute = Recompute::kFull;
  EXPECT_GT(model.hfu(mapping, 10), 1.25 * model.mfu(mapping, 10));
}

// The scores of docs/predict-transformers.md, with some room.
TEST(Fit, TheCatalogPredictsItsRows) {
  const PublishedRows read = catalog_rows(catalog());
  EXPECT_GT(read.rows.size(), 1200U);
  const std::map<std::string, double> most = {{"vTrain, one host", 0.07},
                                              {"llm-foundry", 0.045},
                                              {"NeuSight", 0.06},
                                              {"NeuSight, forward", 0.06},
                                              {"NeMo", 0.07},
                                              {"dgxc-benchmarking", 0.04},
                                              {"calculon", 0.06},
                                              {"Megatron-Bridge", 0.06},
                                              {"Megatron-Bridge, experts", 0.125}};
  for (const Score& score : score_catalog(read.rows)) {
    const auto limit = most.find(score.group);
    if (limit == most.end()) continue;
    EXPECT_LT(score.error, limit->second) << score.group;
  }
}

TEST(Fit, FindsTheFactorsOfTheCatalogAgain) {
  PublishedRows read = catalog_rows(catalog());
  std::erase_if(read.rows, [](const PublishedRow& row) { return row.group.starts_with("vTrain"); });
  const std::vector<FittedStack> fitted = fit_stacks(read.rows);
  for (size_t i = 0; i < fitted.size(); ++i) {
    const std::string& name = fitted[i].name;
    if (name == "megatron-deepspeed" || name.starts_with("mlperf")) continue;
    for (size_t j = 0; j < kNumFactors; ++j) {
      EXPECT_NEAR(fitted[i].factors[j] / fitted_stacks()[i].factors[j], 1, 1e-3)
          << name << ' ' << factor_infos()[j].name;
    }
  }
}

TEST(Fit, TheCatalogPredictsMinutesToTargets) {
  const PublishedRows read = catalog_rows(catalog());
  std::vector<TargetRow> some;
  for (size_t i = 0; i < read.targets.size(); i += 8) some.push_back(read.targets[i]);
  std::vector<SkippedRow> skipped;
  const std::vector<PublishedRow> rows = rows_of_targets(some, skipped);
  EXPECT_GT(rows.size(), 20U);
  double sum = 0;
  for (const Score& score : score_catalog(rows)) {
    sum += score.error * static_cast<double>(score.rows);
  }
  EXPECT_LT(sum / static_cast<double>(rows.size()), 0.15);
}

TEST(Fit, MemoryAgreesWithPublishedSums) {
  const std::vector<MemoryScore> scores = score_memory(catalog_rows(catalog()).memory);
  ASSERT_EQ(scores.size(), 1U);
  EXPECT_EQ(scores[0].rows, 8);
  EXPECT_LT(scores[0].error, 0.03);
}

TEST(Stack, UnknownOnesAreTheirNearestRelative) {
  EXPECT_EQ(stack_for("nemo", false).name, "megatron-core");
  EXPECT_EQ(stack_for("nemo", true).name, "megatron-core-experts");
  EXPECT_EQ(stack_for("torchtitan", true).name, "fsdp-compile");
  EXPECT_EQ(stack_for("something new", false).name, "megatron-core");
  EXPECT_EQ(stack_for("something new", false, true).name, "fsdp-compile");
}

TEST(Stack, AskedForByAnUnknownNameIsRefused) {
  EXPECT_EQ(stack_named("fsdp", false).name, "fsdp");
  EXPECT_EQ(stack_named("nemo 24.07", false).name, "megatron-core");
  EXPECT_EQ(stack_named("megatron-core", true).name, "megatron-core-experts");
  const std::string message = message_of([] { stack_named("megatron-cor", true); });
  EXPECT_NE(message.find("megatron-core"), std::string::npos) << message;
}

TEST(Stack, IntervalsOfUnknownGenerationsAreNoNarrower) {
  for (const FittedStack& stack : fitted_stacks()) {
    EXPECT_LE(stack.far.low, stack.known.low) << stack.name;
    EXPECT_GE(stack.far.high, stack.known.high) << stack.name;
  }
}

TEST(StepTime, ScoresThatAreNotKeptAreComputedAgain) {
  Mapping mapping;
  mapping.sequence = 2048;
  mapping.flash = false;
  const StepTime kept = time_of(mapping);
  mapping.recompute = Recompute::kSelective;
  const StepTime again = time_of(mapping);
  EXPECT_GT(again.memory, kept.memory);
  mapping.fuses = true;
  EXPECT_LT(time_of(mapping).memory, again.memory);
}

TEST(Published, TheRowOfAQuestionIsNearest) {
  const PublishedRows read = catalog_rows(catalog());
  for (const PublishedRow& row : read.rows) {
    if (row.pass != Pass::kTraining) continue;
    const PublishedRow* near = nearest_row(read.rows, row.model, row.machine, row.mapping);
    ASSERT_NE(near, nullptr);
    EXPECT_EQ(near->machine.id, row.machine.id) << row.line;
    EXPECT_EQ(near->mapping.workers, row.mapping.workers) << row.line;
  }
  EXPECT_EQ(nearest_row({}, model_of("gpt2"), machine_of(catalog(), "a100"), {}), nullptr);
}

TEST(Published, RowsThatLackAFigureAreSkippedWithTheReason) {
  constexpr const char* kHead =
      "source,stack,task,device,devices,model,layers,hidden,heads,seq_len,global_batch,micro_batch,"
      "tp,pp,vp,cp,ep,sharding,recompute,precision,iter_s,tokens_per_s,note\n";
  const std::string text = std::string(kHead) +
                           "a/b@1:x,nemo,pretrain,h100,8,llama2-7b,,,,4096,8,1,1,1,,,,,,bf16,1,,\n"
                           "a/b@1:x,nemo,pretrain,h100,8,llama2-7b,,,,4096,8,1,,1,,,,,,bf16,1,,\n"
                           "a/b@1:x,nemo,pretrain,toaster,8,gpt2,,,,1024,8,1,1,1,,,,,,bf16,1,,\n"
                           "a/b@1:x,nemo,pretrain,h100,8,llama2-7b,,,,4096,8,1,3,1,,,,,,bf16,1,,\n"
                           "a/b@1:x,nemo,pretrain,h100,8,llama2-7b,,,,4096,8,1,1,1,,,,,,bf16,0,,\n"
                           "a/b@1:x,nemo,pretrain,h100,1e30,gpt2,,,,1024,8,1,1,1,,,,,,bf16,1,,\n";
  const PublishedRows read = read_published(text, "rows.csv", catalog());
  ASSERT_EQ(read.rows.size(), 1U);
  EXPECT_EQ(read.rows[0].group, "b");
  ASSERT_EQ(read.skipped.size(), 5U);
  EXPECT_EQ(read.skipped[0].reason, "no tp");
  EXPECT_EQ(read.skipped[1].reason, "device not known: toaster");
  EXPECT_NE(read.skipped[2].reason.find("tensor 3"), std::string::npos);
  EXPECT_EQ(read.skipped[3].reason, "iter_s is 0, which cannot be");
  EXPECT_EQ(read.skipped[4].reason, "devices is 1e30");
  EXPECT_THROW(read_published("a,b\n1,2\n", "rows.csv", catalog()), Error);
}

TEST(Plan, TheBestFitsAndIsFasterThanTheNext) {
  const Machine machine = machine_of(catalog(), "h100");
  const Factors& factors = stack_for("megatron-core", false).factors;
  Mapping wanted{.workers = 64, .batch = 512};
  wanted.sequence = 8192;
  const Transformer& model = model_of("llama-3-70b");
  const Plan plan = find_plan(model, machine, factors, wanted, 3);
  ASSERT_EQ(plan.best.size(), 3U);
  EXPECT_GT(plan.tried, plan.fitting);
  double before = 0;
  for (const PlannedMapping& one : plan.best) {
    EXPECT_EQ(problem_of(model, one.mapping), "");
    EXPECT_LE(one.memory.total(), machine.memory_bytes);
    EXPECT_GE(one.time.total(), before);
    before = one.time.total();
  }
}

TEST(Plan, SaysWhatDoesNotFit) {
  const Machine machine = machine_of(catalog(), "t4");
  Mapping wanted{.workers = 2, .batch = 2};
  wanted.sequence = 2048;
  const std::string message =
      message_of([&] { find_plan(model_of("llama-2-70b"), machine, usual_factors(), wanted, 1); });
  EXPECT_NE(message.find("does not fit"), std::string::npos) << message;
}

}  // namespace
}  // namespace trainyard::transformer
