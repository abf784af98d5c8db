// GPT-2: causal transformers whose last layer is the table of their embeddings.
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

constexpr int64_t kGptVocabulary = 50257;
constexpr int64_t kGptLongest = 1024;

struct GptBlock {
  int64_t length;
  const TransformerSizes& sizes;
  float dropout;
  ValueId mask;

  ValueId add(Net& net, ValueId x, const std::string& name) const {
    const int64_t hidden = sizes.hidden;
    ValueId y = net.linear(net.layer_norm(x, name + ".ln_1"), name + ".attn.c_attn", 3 * hidden);
    const std::vector<ValueId> parts = net.three_parts(y, name + ".attn.split");
    y = net.attention(
        parts[0], parts[1], parts[2], name + ".attn",
        {.length = length, .heads = sizes.heads, .causal = true, .kv_heads = 0, .mask = mask});
    y = net.residual_linear(y, name + ".attn.c_proj", hidden, sizes.layers);
    x = net.add(x, net.dropout(y, name + ".attn.dropout", dropout), name + ".add_1");
    y = net.linear(net.layer_norm(x, name + ".ln_2"), name + ".mlp.c_fc", sizes.inner);
    y = net.residual_linear(net.gelu_by_tanh(y, name + ".mlp.gelu"), name + ".mlp.c_proj", hidden,
                            sizes.layers);
    return net.add(x, net.dropout(y, name + ".mlp.dropout", dropout), name + ".add_2");
  }
};

Graph build_gpt(const ModelOptions& options, std::string_view name, int64_t positions,
                float dropout) {
  const TransformerForm& form = options.form;
  NetStyle style{.small_linear = true};
  if (form.norm_epsilon > 0) style.norm_epsilon = static_cast<float>(form.norm_epsilon);
  if (form.positions > 0) positions = form.positions;
  if (form.dropout >= 0) dropout = static_cast<float>(form.dropout);
  Net net(name, style);
  const int64_t hidden = options.sizes.hidden;
  const ValueId tokens = net.tokens(options);
  const ValueId table = net.table("wte.weight", {options.vocabulary, hidden});
  const ValueId all_places = net.table("wpe.weight", {positions, hidden});
  GptBlock block{options.length, options.sizes, dropout, kNoValue};
  ValueId places = kNoValue;
  if (options.end_of_text >= 0) {
    const Places found = net.places(tokens, options.end_of_text);
    places = net.embed(all_places, found.positions, "places.rows");
    block.mask = found.mask;
  } else {
    places = net.first_rows(all_places, "places", options.length);
  }
  ValueId x = net.add(net.embed(table, tokens, "words"), places, "embedded");
  x = net.dropout(net.reshape(x, "rows", {-1, hidden}), "drop", dropout);
  for (int64_t i = 0; i < options.sizes.layers; ++i) {
    x = block.add(net, x, "h." + std::to_string(i));
  }
  x = net.linear_by_table(net.layer_norm(x, "ln_f"), table, "lm_head");
  return net.finish({{net.reshape(x, "out", {-1, options.length, options.vocabulary}), "logits"}});
}

constexpr Paper kGptPaper = {.authors = "Radford, Wu, Child, Luan, Amodei, Sutskever",
                             .title = "Language Models are Unsupervised Multitask Learners",
                             .where = "OpenAI 2019"};

constexpr TransformerSizes kNanoSizes = {
    .layers = 6, .hidden = 384, .heads = 6, .kv_heads = 6, .inner = 1536};
constexpr TransformerSizes kSmallSizes = {
    .layers = 12, .hidden = 768, .heads = 12, .kv_heads = 12, .inner = 3072};
constexpr TransformerSizes kMediumSizes = {
    .layers = 24, .hidden = 1024, .heads = 16, .kv_heads = 16, .inner = 4096};

// As many positions as it is built for.
Graph build_nano(const ModelOptions& options) {
  return build_gpt(options, "gpt-nano", options.length, 0.2F);
}
Graph build_small(const ModelOptions& options) {
  return build_gpt(options, "gpt2-small", kGptLongest, 0.1F);
}
Graph build_medium(const ModelOptions& options) {
  return build_gpt(options, "gpt2-medium", kGptLongest, 0.1F);
}

}  // namespace

extern const ModelDef kGptNano = {
    .name = "gpt-nano",
    .summary =
        "GPT-2's layout with the sizes of nanoGPT's character model; a score of the next "
        "token at each of `length`",
    .paper = kGptPaper,
    .channels = 0,
    .image = 0,
    .classes = 0,
    .length = 256,
    .longest = 65536,
    .vocabulary = 256,
    .sizes = kNanoSizes,
    .build = build_nano};

extern const ModelDef kGpt2Small = {
    .name = "gpt2-small",
    .summary = "GPT-2 with 124 million parameters; a score of the next token at each of `length`",
    .paper = kGptPaper,
    .channels = 0,
    .image = 0,
    .classes = 0,
    .length = 128,
    .longest = kGptLongest,
    .vocabulary = kGptVocabulary,
    .sizes = kSmallSizes,
    .build = build_small};

extern const ModelDef kGpt2Medium = {
    .name = "gpt2-medium",
    .summary = "GPT-2 with 355 million parameters; a score of the next token at each of `length`",
    .paper = kGptPaper,
    .channels = 0,
    .image = 0,
    .classes = 0,
    .length = 128,
    .longest = kGptLongest,
    .vocabulary = kGptVocabulary,
    .sizes = kMediumSizes,
    .build = build_medium};

}  // namespace trainyard::models
