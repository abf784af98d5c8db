#include "cluster/transformer/model.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "cluster/transformer/model_catalog.h"
#include "support/error_message.h"

namespace trainyard::transformer {
namespace {

int64_t total_of(const char* name) {
  return count_parameters(model_of(name)).total;
}

// As the models' own pages and files have them.
TEST(Model, CountsAreThePublishedOnes) {
  EXPECT_EQ(total_of("llama-2-7b"), 6738415616);
  EXPECT_EQ(total_of("llama-2-70b"), 68976648192);
  EXPECT_EQ(total_of("llama-3-8b"), 8030261248);
  EXPECT_EQ(total_of("llama-3.1-405b"), 405853388800);
  EXPECT_EQ(total_of("gpt2"), 124439808);
  EXPECT_EQ(total_of("bert-base"), 109482240);
  EXPECT_EQ(total_of("bert-large"), 335141888);
  EXPECT_EQ(total_of("mixtral-8x7b"), 46702792704);
  EXPECT_EQ(total_of("qwen3-8b"), 8190735360);
  EXPECT_EQ(total_of("qwen3-30b-a3b"), 30532122624);
  EXPECT_NEAR(static_cast<double>(total_of("deepseek-v3")), 671.0e9, 0.1e9);
}

TEST(Model, ATokenMeetsOnlyItsExperts) {
  const Parameters count = count_parameters(model_of("mixtral-8x7b"));
  EXPECT_NEAR(static_cast<double>(count.active), 12.88e9, 0.01e9);
  EXPECT_NEAR(static_cast<double>(count_parameters(model_of("deepseek-v3")).active), 37.5e9, 0.4e9);
}

TEST(Model, FlopsAreSixPerParameterAndAttention) {
  const Transformer& model = model_of("llama-2-7b");
  const double per_token = token_flops(model, 4096).training();
  const double matrices = 6738415616.0 - 32000.0 * 4096 - 65 * 4096;
  EXPECT_NEAR(per_token, 6 * matrices + 6.0 * 32 * 4096 * 4096, 1e3);
}

TEST(Model, NamesOfOthersAreTheSameModel) {
  EXPECT_EQ(find_model("LLAMA3_8B"), &model_of("llama-3-8b"));
  EXPECT_EQ(find_model("meta-llama/Meta-Llama-3.1-8B"), &model_of("llama-3-8b"));
  EXPECT_EQ(find_model("DeepSeekV3 (tokendrop)"), &model_of("deepseek-v3"));
  EXPECT_EQ(find_model("resnet50"), nullptr);
  EXPECT_NE(message_of([] { model_of("llama-3-9b"); }).find("llama-3-8b"), std::string::npos);
  EXPECT_EQ(model_of("Qwen/Qwen3-32B-FP8").name, "qwen3-32b");
  EXPECT_EQ(model_of("nvidia/DeepSeek-V3.1-NVFP4").name, "deepseek-v3");
}

TEST(Model, EveryModelOfTheCatalogHasASourceAndCounts) {
  for (const Transformer& model : known_models()) {
    EXPECT_FALSE(model.source.empty()) << model.name;
    EXPECT_GT(count_parameters(model).total, 0) << model.name;
  }
}

TEST(Config, ReadsHuggingFaceNames) {
  const Transformer model = model_of_config(
      R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
          "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
          "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32000,
          "max_position_embeddings": 32768})",
      "config.json");
  EXPECT_EQ(count_parameters(model).total, 46702792704);
  const Transformer gpt2 = model_of_config(
      R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
          "vocab_size": 50257})",
      "config.json");
  EXPECT_EQ(count_parameters(gpt2).total, 124439808);
}

TEST(Config, RefusesWhatIsNoPlainTransformer) {
  EXPECT_NE(
      message_of([] { model_of_config(R"({"model_type": "mamba"})", "c.json"); }).find("'mamba'"),
      std::string::npos);
  EXPECT_NE(message_of([] {
              model_of_config(R"({"model_type": "llama", "hidden_size": 8})", "c.json");
            }).find("num_hidden_layers"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              model_of_config(R"({"model_type": "llama", "rope_theta": 1, "memory_tokens": 8})",
                              "c.json");
            }).find("'memory_tokens'"),
            std::string::npos);
}

TEST(Model, RefusesSizesThatCannotBe) {
  Transformer model = model_of("llama-2-7b");
  model.kv_heads = 5;
  EXPECT_THROW(complete(model), Error);
  model = model_of("llama-2-7b");
  model.layers = 0;
  EXPECT_THROW(complete(model), Error);
  model = model_of("llama-2-7b");
  model.hidden = model.ffn = int64_t{1} << 22;
  model.layers = 100000;
  EXPECT_THROW(count_parameters(model), Error);
}

}  // namespace
}  // namespace trainyard::transformer
