// Llama: causal transformers with rotary positions, shared heads of keys and values, gated
// feed-forward parts (or a mixture of them) and root-mean-square normalization.
#include "base/error.h"
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

struct LlamaBlock {
  int64_t length;
  const TransformerSizes& sizes;
  Places places;
  RotaryTables tables;

  // What experts say of their balance is added to the list.
  ValueId add(Net& net, ValueId x, const std::string& name, std::vector<ValueId>& balances) const {
    const int64_t depth = sizes.hidden / sizes.heads;
    const std::string attention = name + ".self_attn";
    ValueId y = net.rms_norm(x, name + ".input_layernorm");
    const ValueId q = net.linear_no_bias(y, attention + ".q_proj", sizes.hidden);
    const ValueId k = net.linear_no_bias(y, attention + ".k_proj", sizes.kv_heads * depth);
    const ValueId v = net.linear_no_bias(y, attention + ".v_proj", sizes.kv_heads * depth);
    y = net.attention(
        net.rotate(q, attention + ".q_rotary", sizes.heads, tables, places.positions),
        net.rotate(k, attention + ".k_rotary", sizes.kv_heads, tables, places.positions), v,
        attention,
        {.length = length,
         .heads = sizes.heads,
         .causal = true,
         .kv_heads = sizes.kv_heads,
         .mask = places.mask});
    x = net.add(x, net.linear_no_bias(y, attention + ".o_proj", sizes.hidden), name + ".add_1");
    y = net.rms_norm(x, name + ".post_attention_layernorm");
    if (sizes.experts > 0) {
      const ExpertRows made =
          net.experts(y, name + ".block_sparse_moe",
                      {.experts = sizes.experts, .active = sizes.active, .inner = sizes.inner});
      balances.push_back(made.balance);
      return net.add(x, made.rows, name + ".add_2");
    }
    const ValueId gate = net.activate(net.linear_no_bias(y, name + ".mlp.gate_proj", sizes.inner),
                                      "Swish", name + ".mlp.act_fn");
    y = net.multiply(gate, net.linear_no_bias(y, name + ".mlp.up_proj", sizes.inner),
                     name + ".mlp.gated");
    return net.add(x, net.linear_no_bias(y, name + ".mlp.down_proj", sizes.hidden),
                   name + ".add_2");
  }
};

// The mean over the layers.
ValueId mean_balance(Net& net, const std::vector<ValueId>& balances) {
  ValueId sum = balances[0];
  for (size_t i = 1; i < balances.size(); ++i) {
    sum = net.add(sum, balances[i], "balance.sum_" + std::to_string(i));
  }
  return net.scale(sum, "balance.mean", 1.0F / static_cast<float>(balances.size()));
}

Graph build_layout(const ModelOptions& options, std::string_view name) {
  const int64_t hidden = options.sizes.hidden;
  TY_REQUIRE(hidden / options.sizes.heads % 2 == 0,
             "{}: heads of {} columns cannot be turned in pairs; choose an even number", name,
             hidden / options.sizes.heads);
  NetStyle style{.small_linear = true};
  if (options.form.norm_epsilon > 0) {
    style.norm_epsilon = static_cast<float>(options.form.norm_epsilon);
  }
  Net net(name, style);
  const ValueId tokens = net.tokens(options);
  const LlamaBlock block{
      options.length, options.sizes, net.places(tokens, options.end_of_text),
      net.rotary_tables(options.length, hidden / options.sizes.heads, options.form.rotary_base)};
  const ValueId table = net.table("embed_tokens.weight", {options.vocabulary, hidden});
  ValueId x = net.embed(table, tokens, "words");
  x = net.reshape(x, "rows", {-1, hidden});
  std::vector<ValueId> balances;
  for (int64_t i = 0; i < options.sizes.layers; ++i) {
    x = block.add(net, x, "layers." + std::to_string(i), balances);
  }
  x = net.rms_norm(x, "norm");
  x = options.form.tied ? net.linear_by_table(x, table, "lm_head")
                        : net.linear_no_bias(x, "lm_head", options.vocabulary);
  const ValueId out = net.reshape(x, "out", {-1, options.length, options.vocabulary});
  if (!options.auxiliary) return net.finish({{out, "logits"}});
  return net.finish({{out, "logits"}, {mean_balance(net, balances), "balance"}});
}

Graph build_llama(const ModelOptions& options) {
  return build_layout(options, "llama");
}
Graph build_mixture(const ModelOptions& options) {
  return build_layout(options, "llama-moe");
}

}  // namespace

extern const ModelDef kLlama = {
    .name = "llama",
    .summary =
        "Llama's layout with 56 million parameters, sizes by settings; a score of the next "
        "token at each of `length`",
    .paper = {.authors = "Touvron, Lavril, Izacard, Martinet, Lachaux, Lacroix, Rozière, Goyal, "
                         "Hambro, Azhar, Rodriguez, Joulin, Grave, Lample",
              .title = "LLaMA: Open and Efficient Foundation Language Models",
              .where = "arXiv:2302.13971"},
    .channels = 0,
    .image = 0,
    .classes = 0,
    .length = 256,
    .longest = 65536,
    .vocabulary = 32000,
    .sizes = {.layers = 8, .hidden = 512, .heads = 8, .kv_heads = 4, .inner = 1408},
    .build = build_llama};

extern const ModelDef kLlamaMoe = {
    .name = "llama-moe",
    .summary =
        "Llama's layout with 8 experts in each layer, of which 2 work for each token; sizes by "
        "settings; a score of the next token at each of `length`",
    .paper = {.authors = "Jiang, Sablayrolles, Roux, Mensch, Savary, Bamford, Chaplot, de las "
                         "Casas, Hanna, Bressand, Lengyel, Bour, Lample, Lavaud, Saulnier, "
                         "Lachaux, Stock, Subramanian, Yang, Antoniak, Le Scao, Gervet, Lavril, "
                         "Wang, Lacroix, El Sayed",
              .title = "Mixtral of Experts",
              .where = "arXiv:2401.04088"},
    .channels = 0,
    .image = 0,
    .classes = 0,
    .length = 256,
    .longest = 65536,
    .vocabulary = 32000,
    .sizes = {.layers = 6,
              .hidden = 384,
              .heads = 6,
              .kv_heads = 2,
              .inner = 512,
              .experts = 8,
              .active = 2},
    .has_auxiliary = true,
    .build = build_mixture};

}  // namespace trainyard::models
