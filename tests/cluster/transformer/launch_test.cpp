#include "cluster/transformer/launch.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_message.h"

namespace trainyard::transformer {
namespace {

Launch launch_of(std::string_view line, const std::string& file = "") {
  return read_launch(line, [&file](const std::string&) { return file; });
}

TEST(Launch, ReadsMegatron) {
  const Launch launch = launch_of(
      "torchrun --nproc_per_node 8 --nnodes=4 pretrain_gpt.py --tensor-model-parallel-size 4 \\\n"
      " --pipeline-model-parallel-size 2 --num-layers 32 --hidden-size 4096 "
      "--num-attention-heads 32 --group-query-attention --num-query-groups 8 --swiglu "
      "--ffn-hidden-size 14336 --normalization RMSNorm --disable-bias-linear "
      "--untie-embeddings-and-output-weights --seq-length 8192 --micro-batch-size 1 "
      "--global-batch-size 128 --use-distributed-optimizer --sequence-parallel --bf16 "
      "--num-layers-per-virtual-pipeline-stage 4 --recompute-granularity full --log-interval 10");
  EXPECT_EQ(launch.mapping.workers, 32);
  EXPECT_EQ(launch.mapping.tensor, 4);
  EXPECT_EQ(launch.mapping.pipeline, 2);
  EXPECT_EQ(launch.mapping.interleave, 4);
  EXPECT_EQ(launch.mapping.batch, 128);
  EXPECT_EQ(launch.mapping.zero, 1);
  EXPECT_EQ(launch.mapping.recompute, Recompute::kFull);
  EXPECT_TRUE(launch.mapping.sequence_parallel);
  EXPECT_EQ(launch.sizes.kv_heads, 8);
  EXPECT_TRUE(launch.sizes.gated && launch.sizes.rms_norm);
  EXPECT_FALSE(launch.sizes.bias || launch.sizes.tied);
  EXPECT_EQ(launch.ignored, std::vector<std::string>{"log_interval"});
}

TEST(Launch, ReadsTheTrainerWithDeepSpeed) {
  const Launch launch = launch_of(
      "deepspeed --num_gpus 8 train.py --model_name_or_path meta-llama/Llama-2-7b "
      "--per_device_train_batch_size 2 --gradient_accumulation_steps 4 --bf16 True "
      "--gradient_checkpointing True --max_seq_length 4096 --deepspeed ds.json",
      R"({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}},
          "bf16": {"enabled": true}})");
  EXPECT_EQ(launch.model, "meta-llama/Llama-2-7b");
  EXPECT_EQ(launch.mapping.workers, 8);
  EXPECT_EQ(launch.mapping.batch, 64);
  EXPECT_EQ(launch.mapping.zero, 3);
  EXPECT_EQ(launch.mapping.sequence, 4096);
  EXPECT_EQ(launch.mapping.offload, Offload::kOptimizer);
  EXPECT_EQ(launch.mapping.recompute, Recompute::kFull);
}

TEST(Launch, ReadsTorchtitan) {
  const Launch launch = launch_of(
      "torchrun --nproc_per_node=8 --nnodes 2 -m torchtitan.train --job.config_file llama.toml "
      "--parallelism.tensor_parallel_degree 2",
      "# comment\n[model]\nname = \"llama3\"\nflavor = '8B'\n[training]\nseq_len = 8192  # tokens\n"
      "local_batch_size = 2\n[activation_checkpoint]\nmode = \"selective\"\n");
  EXPECT_EQ(launch.model, "llama3-8B");
  EXPECT_EQ(launch.mapping.workers, 16);
  EXPECT_EQ(launch.mapping.tensor, 2);
  EXPECT_EQ(launch.mapping.zero, 3);
  EXPECT_EQ(launch.mapping.batch, 16);
  EXPECT_EQ(launch.mapping.recompute, Recompute::kSelective);
}

TEST(Launch, RefusesWhatItCannotRead) {
  EXPECT_NE(message_of([] { launch_of("x --micro-batch-size $MBS"); }).find("'$MBS'"),
            std::string::npos);
  EXPECT_NE(message_of([] { launch_of("ls --color"); }).find("no setting"), std::string::npos);
  EXPECT_THROW(launch_of("x 'open"), Error);
  EXPECT_THROW(launch_of("x --deepspeed f", "{"), Error);
  EXPECT_THROW(launch_of("x --job.config_file f", "[table\n"), Error);
  EXPECT_THROW(launch_of("x --micro-batch-size 0"), Error);
  EXPECT_THROW(launch_of("x --nproc_per_node 1000000 --nnodes 1000000 --bf16"), Error);
  EXPECT_THROW(launch_of("x --tensor-model-parallel-size 99999999999999999999"), Error);
}

}  // namespace
}  // namespace trainyard::transformer
