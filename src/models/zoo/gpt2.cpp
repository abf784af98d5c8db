// GPT-2 small: a causal transformer whose last layer is the table of its embeddings.
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

constexpr int64_t kGptVocabulary = 50257;
constexpr int64_t kGptLongest = 1024;
constexpr int64_t kGptLayers = 12;
constexpr int64_t kGptHeads = 12;
constexpr int64_t kGptHidden = 768;
constexpr int64_t kGptInner = 3072;

ValueId gpt2_block(Net& net, ValueId x, const std::string& name, int64_t length) {
  ValueId y = net.linear(net.layer_norm(x, name + ".ln_1"), name + ".attn.c_attn", 3 * kGptHidden);
  const std::vector<ValueId> parts = net.three_parts(y, name + ".attn.split");
  y = net.attention(parts[0], parts[1], parts[2], name + ".attn",
                    {.length = length, .heads = kGptHeads, .causal = true});
  y = net.dropout(net.linear(y, name + ".attn.c_proj", kGptHidden), name + ".attn.dropout", 0.1F);
  x = net.add(x, y, name + ".add_1");
  y = net.linear(net.layer_norm(x, name + ".ln_2"), name + ".mlp.c_fc", kGptInner);
  y = net.linear(net.gelu_by_tanh(y, name + ".mlp.gelu"), name + ".mlp.c_proj", kGptHidden);
  return net.add(x, net.dropout(y, name + ".mlp.dropout", 0.1F), name + ".add_2");
}

Graph build_gpt2(const ModelOptions& options) {
  Net net("gpt2-small");
  const ValueId tokens = net.tokens(options);
  const ValueId table = net.table("wte.weight", {kGptVocabulary, kGptHidden});
  const ValueId places =
      net.first_rows(net.table("wpe.weight", {kGptLongest, kGptHidden}), "places", options.length);
  ValueId x = net.add(net.embed(table, tokens, "words"), places, "embedded");
  x = net.dropout(net.reshape(x, "rows", {-1, kGptHidden}), "drop", 0.1F);
  for (int64_t i = 0; i < kGptLayers; ++i) {
    x = gpt2_block(net, x, "h." + std::to_string(i), options.length);
  }
  x = net.linear_by_table(net.layer_norm(x, "ln_f"), table, "lm_head");
  return net.finish({{net.reshape(x, "out", {-1, options.length, kGptVocabulary}), "logits"}});
}

}  // namespace

extern const ModelDef kGpt2Small = {
    .name = "gpt2-small",
    .summary = "GPT-2 with 124 million parameters; a score of the next token at each of --length",
    .paper = {.authors = "Radford, Wu, Child, Luan, Amodei, Sutskever",
              .title = "Language Models are Unsupervised Multitask Learners",
              .where = "OpenAI 2019"},
    .channels = 0,
    .image = 0,
    .classes = 0,
    .length = 128,
    .longest = kGptLongest,
    .vocabulary = kGptVocabulary,
    .build = build_gpt2};

}  // namespace trainyard::models
