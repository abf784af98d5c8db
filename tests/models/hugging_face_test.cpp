// Folders of Hugging Face: what is written is read again as the same network, and what is refused.
// tools/compare_hugging_face.py compares with the transformers library.
#include "models/hugging_face.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "runs/safetensors.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace trainyard::network {
namespace {

namespace fs = std::filesystem;

Request tiny(const std::string& model) {
  return {.model = model,
          .batch = 1,
          .length = 8,
          .vocabulary = 17,
          .sizes = {.layers = 2, .hidden = 12, .heads = 3, .kv_heads = model == "llama" ? 1 : 3}};
}

class HuggingFace : public testing::Test {
 protected:
  fs::path folder(const std::string& name) const { return folder_.path() / name; }
  fs::path written(const std::string& model) const {
    write_hugging_face(load(tiny(model)), {}, {.seed = 3}, folder(model));
    return folder(model);
  }
  // One setting of the folder's config.json changed; what loading then says.
  static std::string message_with(const fs::path& path, const std::string& key, const Json& value) {
    Json config = Json::parse(read_file(path / "config.json"), "config");
    config[key] = value;
    write_file(path / "config.json", config.dump());
    return message_of([&] { load({.model = path.string(), .batch = 1, .length = 8}); });
  }

  TemporaryFolder folder_{"hugging_face"};
};

TEST_F(HuggingFace, WhatIsWrittenIsReadAgain) {
  for (const std::string model : {"gpt-nano", "llama"}) {
    const fs::path path = written(model);
    ASSERT_TRUE(is_hugging_face(path.string()));
    const Graph graph = load({.model = path.string(), .batch = 1, .length = 8});
    EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (Shape{1, 8, 17}));
    write_hugging_face(graph, {}, {}, folder(model + " again"));
    for (const char* file : {"model.safetensors", "config.json"}) {
      EXPECT_EQ(read_file(path / file), read_file(folder(model + " again") / file)) << model;
    }
  }
}

TEST_F(HuggingFace, NamesAndShapesAreTheirs) {
  const runs::SafetensorsFile gpt(written("gpt-nano") / "model.safetensors");
  ASSERT_NE(gpt.find("transformer.h.1.attn.c_attn.weight"), nullptr);
  EXPECT_EQ(gpt.find("transformer.h.1.attn.c_attn.weight")->type.shape, (Shape{12, 36}));
  EXPECT_EQ(gpt.find("transformer.h.1.attn.c_attn.bias")->type.shape, (Shape{36}));
  EXPECT_EQ(gpt.find("lm_head.weight"), nullptr) << "the table of embeddings";
  const runs::SafetensorsFile llama(written("llama") / "model.safetensors");
  EXPECT_EQ(llama.find("model.layers.0.self_attn.k_proj.weight")->type.shape, (Shape{4, 12}));
  EXPECT_NE(llama.find("lm_head.weight"), nullptr);
  const Json config = Json::parse(read_file(folder("llama") / "config.json"), "config");
  EXPECT_EQ(config.at("num_key_value_heads").as_int(), 1);
  EXPECT_EQ(config.at("rope_theta").as_number(), 10000);
}

TEST_F(HuggingFace, RefusesWhatItCannotCompute) {
  const fs::path path = written("llama");
  EXPECT_NE(message_with(path, "num_hidden_layers", 3).find("no tensor 'model.layers.2."),
            std::string::npos);
  EXPECT_NE(message_with(path, "num_hidden_layers", 1).find("have no place"), std::string::npos);
  EXPECT_NE(message_with(path, "num_hidden_layers", 2).find("no error"), std::string::npos);
  EXPECT_NE(message_with(path, "vocab_size", 18).find("model.embed_tokens.weight"),
            std::string::npos);
  EXPECT_NE(message_with(path, "vocab_size", "many").find("'vocab_size'"), std::string::npos);
  message_with(path, "vocab_size", 17);
  EXPECT_NE(message_with(path, "hidden_act", "relu").find("'hidden_act'"), std::string::npos);
  EXPECT_NE(message_with(path, "model_type", "t5").find("'t5'"), std::string::npos);
  message_with(path, "hidden_act", "silu");
  EXPECT_NE(message_with(path, "model_type", "gpt2").find("'tie_word_embeddings'"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              load({.model = written("gpt-nano").string(), .batch = 1, .length = 9});
            }).find("9 tokens are more than the 8 positions"),
            std::string::npos);
  fs::remove(folder("llama") / "model.safetensors");
  EXPECT_NE(message_with(path, "model_type", "llama").find("pytorch_model.bin"), std::string::npos);
}

TEST_F(HuggingFace, AnIndexNamesTheFilesOfWeights) {
  const fs::path path = written("llama");
  fs::rename(path / "model.safetensors", path / "part.safetensors");
  const auto message_of_index = [&](const std::string& index) {
    write_file(path / "model.safetensors.index.json", index);
    return message_of([&] { load({.model = path.string(), .batch = 1, .length = 8}); });
  };
  // The file that is named beside us, whatever folder the index says.
  EXPECT_EQ(message_of_index(R"({"weight_map": {"model.norm.weight": "../part.safetensors"}})"),
            "no error");
  EXPECT_NE(message_of_index(R"({"weight_map": {"model.norm.weight": 1}})").find("expected text"),
            std::string::npos);
  EXPECT_NE(message_of_index("{}").find("'weight_map' is missing"), std::string::npos);
}

// Files of others leave out what is usual.
TEST_F(HuggingFace, NodesWithoutAttributesAreNoted) {
  Graph graph = load(tiny("gpt-nano"));
  for (const NodeId id : graph.node_ids()) graph.mutable_node(id).attributes.erase("epsilon");
  write_hugging_face(graph, {}, {}, folder("usual"));
  const Json config = Json::parse(read_file(folder("usual") / "config.json"), "config");
  EXPECT_EQ(config.at("layer_norm_epsilon").as_number(), 1e-5);
  for (const NodeId id : graph.node_ids()) graph.mutable_node(id).attributes.erase("q_num_heads");
  onnx_io::Metadata metadata;
  note_form(graph, {}, metadata);
  EXPECT_TRUE(metadata.empty());
}

TEST_F(HuggingFace, OtherLayoutsAreNotWritten) {
  EXPECT_THROW(write_hugging_face(load({.model = "lenet5", .batch = 1}), {}, {}, folder("lenet")),
               Error);
  EXPECT_FALSE(fs::exists(folder("lenet")));
}

}  // namespace
}  // namespace trainyard::network
