#include "cluster/transformer/memory.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "cluster/transformer/model_catalog.h"
#include "support/error_message.h"

namespace trainyard::transformer {
namespace {

TEST(Memory, ActivationsOfALayerAreKorthikantis) {
  // s b h (34 + 5 a s / h) bytes without parallelism, in half precision.
  const Transformer& model = model_of("megatron-22b");
  Mapping mapping{.micro_batch = 4, .batch = 4};
  mapping.sequence = 2048;
  mapping.flash = false;
  const double expected = 48 * 2048.0 * 4 * 6144 * (34 + 5.0 * 64 * 2048 / 6144);
  EXPECT_NEAR(memory_of(model, mapping).activations / expected, 1, 1e-9);
}

TEST(Memory, ShardingDividesWhatItShares) {
  const Transformer& model = model_of("llama-2-7b");
  Mapping mapping{.workers = 64, .batch = 64};
  mapping.zero = 0;
  const Memory whole = memory_of(model, mapping);
  EXPECT_NEAR(whole.weights + whole.gradients + whole.optimizer, 18 * 6738415616.0, 1);
  mapping.zero = 1;
  EXPECT_NEAR(memory_of(model, mapping).optimizer, whole.optimizer / 64, 1);
  EXPECT_EQ(memory_of(model, mapping).gradients, whole.gradients);
  // Weights that are shared out are kept in single precision, without another copy.
  mapping.zero = 3;
  const Memory shared = memory_of(model, mapping);
  EXPECT_NEAR(shared.weights + shared.gradients + shared.optimizer, 16 * 6738415616.0 / 64, 1);
  // Groups of 8 that each have the whole.
  mapping.shard_group = 8;
  EXPECT_NEAR(memory_of(model, mapping).weights, 4 * 6738415616.0 / 8, 1);
  mapping.shard_group = 5;
  EXPECT_NE(problem_of(model, mapping).find("shard_group 5"), std::string::npos);
}

TEST(Memory, AdaptersAloneHaveGradients) {
  const Transformer& model = model_of("llama-2-70b");
  Mapping mapping{.workers = 8, .tensor = 8, .batch = 1};
  mapping.sequence = 8192;
  const Memory all = memory_of(model, mapping);
  mapping.lora = 16;
  const Memory adapters = memory_of(model, mapping);
  EXPECT_EQ(adapters.weights, all.weights);
  // 16 (h + q + 2k + o + h + 2h + 3f) a layer.
  const double each = 16.0 * (4 * 8192 + 2 * 8192 + 2 * 1024 + 3 * 28672) * 80;
  EXPECT_NEAR(adapter_parameters(model, 16), each, 1);
  EXPECT_NEAR(adapters.gradients, 4 * each / 8, 1);
}

TEST(Memory, OffloadingMovesTheOptimizerToTheHost) {
  const Transformer& model = model_of("llama-2-7b");
  Mapping mapping{.workers = 8, .batch = 8};
  const Memory kept = memory_of(model, mapping);
  mapping.offload = Offload::kOptimizer;
  const Memory moved = memory_of(model, mapping);
  EXPECT_EQ(moved.optimizer, 0);
  EXPECT_EQ(moved.host, kept.optimizer);
  mapping.offload = Offload::kActivations;
  EXPECT_LT(memory_of(model, mapping).activations, kept.activations / 10);
}

TEST(Memory, NamesTheFirstPartThatDoesNotFit) {
  const Transformer& model = model_of("llama-2-7b");
  Mapping mapping;
  mapping.zero = 0;
  const Memory memory = memory_of(model, mapping);
  EXPECT_EQ(first_that_does_not_fit(memory, 80 * kGibi), "optimizer");
  EXPECT_EQ(first_that_does_not_fit(memory, 8 * kGibi), "weights");
  EXPECT_EQ(first_that_does_not_fit(memory, 800 * kGibi), "");
}

TEST(Memory, LargestMicroBatchIsTheLastThatFits) {
  const Transformer& model = model_of("llama-3-8b");
  Mapping mapping{.workers = 64, .batch = 64};
  mapping.zero = 3;
  const int64_t largest = largest_micro_batch(model, mapping, 80 * kGibi);
  ASSERT_GE(largest, 1);
  mapping.micro_batch = largest;
  mapping.batch = 64 * largest;
  EXPECT_LE(memory_of(model, mapping).total(), 80 * kGibi);
  mapping.micro_batch += 1;
  mapping.batch = 64 * mapping.micro_batch;
  EXPECT_GT(memory_of(model, mapping).total(), 80 * kGibi);
  EXPECT_EQ(largest_micro_batch(model, mapping, kGibi), 0);
}

TEST(Mapping, RefusesWithTheNearestThatCanBe) {
  const Transformer& model = model_of("llama-3-8b");
  Mapping mapping{.workers = 64, .batch = 256};
  mapping.tensor = 3;
  const std::string message = message_of([&] { check(model, mapping); });
  EXPECT_NE(message.find("tensor 3"), std::string::npos) << message;
  EXPECT_NE(message.find("tensor 4"), std::string::npos) << message;
  mapping.tensor = 1;
  mapping.pipeline = 64;
  EXPECT_NE(message_of([&] { check(model, mapping); }).find("pipeline 32"), std::string::npos);
  mapping.pipeline = 1;
  mapping.expert = 8;
  EXPECT_NE(message_of([&] { check(model, mapping); }).find("no experts"), std::string::npos);
}

TEST(Mapping, TheNearestIsValid) {
  for (const char* name : {"llama-3-8b", "mixtral-8x7b", "bert-large"}) {
    const Transformer& model = model_of(name);
    for (const int64_t tensor : {3, 5, 7, 48}) {
      for (const int64_t workers : {1, 6, 64, 100}) {
        Mapping mapping{.workers = workers, .tensor = tensor, .batch = 37};
        mapping.expert = 5;
        EXPECT_EQ(problem_of(model, nearest(model, mapping)), "") << name << tensor << workers;
      }
    }
  }
}

TEST(Machine, NamesOfPublishedResultsAreDevices) {
  const predict::Catalog catalog = predict::Catalog::built_in();
  EXPECT_EQ(machine_of(catalog, "h100-80gb-sxm").id, "h100");
  EXPECT_EQ(machine_of(catalog, "a100 (dgx-a100)").id, "a100-80gb");
  EXPECT_EQ(machine_of(catalog, "gb200").domain, 72);
  EXPECT_GT(machine_of(catalog, "h100").peak(Number::kFp8), 1.9e15);
  EXPECT_EQ(machine_of(catalog, "a100").peak(Number::kFp8), 0);
  EXPECT_FALSE(is_machine(catalog, "N/A"));
}

}  // namespace
}  // namespace trainyard::transformer
