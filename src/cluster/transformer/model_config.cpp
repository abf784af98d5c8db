// A config.json of Hugging Face: each family has its own names for the same sizes.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "cluster/transformer/model_catalog.h"

namespace trainyard::transformer {
namespace {

class Config {
 public:
  Config(std::string_view text, const std::string& origin)
      : json_(Json::parse(text, origin)), origin_(origin) {
    TY_REQUIRE(json_.is_object(), "{}: expected an object, as a config.json is", origin);
  }

  // The first of these names that is there and not null.
  const Json* find(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      const Json* value = json_.find(name);
      if (value != nullptr && !value->is_null()) return value;
    }
    return nullptr;
  }
  int64_t integer_or(std::initializer_list<std::string_view> names, int64_t fallback) const {
    const Json* value = find(names);
    if (value == nullptr) return fallback;
    TY_REQUIRE(value->is_int() && value->as_int() >= 0, "{}: {} is {}, expected a whole number",
               origin_, *names.begin(), value->dump(-1));
    return value->as_int();
  }
  int64_t integer(std::initializer_list<std::string_view> names) const {
    TY_REQUIRE(find(names) != nullptr, "{}: '{}' is missing, which every transformer has", origin_,
               *names.begin());
    return integer_or(names, 0);
  }
  bool flag_or(std::string_view name, bool fallback) const {
    const Json* value = find({name});
    TY_REQUIRE(value == nullptr || value->is_bool(), "{}: {} is {}, expected true or false",
               origin_, name, value->dump(-1));
    return value == nullptr ? fallback : value->as_bool();
  }
  std::string text_or(std::string_view name, std::string fallback) const {
    const Json* value = find({name});
    return value != nullptr && value->is_string() ? value->as_string() : std::move(fallback);
  }
  const std::string& origin() const { return origin_; }
  // Throws Error for a key that is neither read here nor known to change no size.
  void refuse_unknown_keys() const;

 private:
  Json json_;
  std::string origin_;
};

// Keys that are read.
constexpr std::array<std::string_view, 46> kRead = {"model_type",
                                                    "num_hidden_layers",
                                                    "n_layer",
                                                    "n_layers",
                                                    "hidden_size",
                                                    "n_embd",
                                                    "d_model",
                                                    "num_attention_heads",
                                                    "n_head",
                                                    "n_heads",
                                                    "num_key_value_heads",
                                                    "head_dim",
                                                    "intermediate_size",
                                                    "n_inner",
                                                    "ffn_dim",
                                                    "vocab_size",
                                                    "num_local_experts",
                                                    "n_routed_experts",
                                                    "num_experts",
                                                    "num_experts_per_tok",
                                                    "experts_per_token",
                                                    "moe_intermediate_size",
                                                    "first_k_dense_replace",
                                                    "n_shared_experts",
                                                    "kv_lora_rank",
                                                    "q_lora_rank",
                                                    "qk_rope_head_dim",
                                                    "v_head_dim",
                                                    "qk_nope_head_dim",
                                                    "mlp_bias",
                                                    "attention_bias",
                                                    "tie_word_embeddings",
                                                    "max_position_embeddings",
                                                    "n_positions",
                                                    "n_ctx",
                                                    "max_seq_len",
                                                    "type_vocab_size",
                                                    "num_heads",
                                                    "expansion_ratio",
                                                    "attn_config",
                                                    "ffn_config",
                                                    "num_nextn_predict_layers",
                                                    "word_embed_proj_dim",
                                                    "do_layer_norm_before",
                                                    "moe_layer_freq",
                                                    "decoder_sparse_step"};
// Keys, or their beginnings, that change neither sizes nor work.
constexpr std::array<std::string_view, 62> kHarmless = {"_name_or_path",
                                                        "architectures",
                                                        "auto_map",
                                                        "torch_dtype",
                                                        "dtype",
                                                        "transformers_version",
                                                        "use_cache",
                                                        "bos_token_id",
                                                        "eos_token_id",
                                                        "pad_token_id",
                                                        "sep_token_id",
                                                        "cls_token_id",
                                                        "mask_token_id",
                                                        "unk_token_id",
                                                        "initializer_",
                                                        "init_",
                                                        "rms_norm_eps",
                                                        "layer_norm_eps",
                                                        "layer_norm_epsilon",
                                                        "layernorm_epsilon",
                                                        "norm_type",
                                                        "rope_",
                                                        "max_window_layers",
                                                        "sliding_window",
                                                        "use_sliding_window",
                                                        "hidden_act",
                                                        "activation_function",
                                                        "hidden_dropout",
                                                        "attention_dropout",
                                                        "attention_probs_dropout_prob",
                                                        "attn_pdrop",
                                                        "embd_pdrop",
                                                        "resid_pdrop",
                                                        "emb_pdrop",
                                                        "classifier_dropout",
                                                        "dropout",
                                                        "layerdrop",
                                                        "activation_dropout",
                                                        "pretraining_tp",
                                                        "position_embedding_type",
                                                        "gradient_checkpointing",
                                                        "output_",
                                                        "router_",
                                                        "norm_topk_prob",
                                                        "scoring_func",
                                                        "topk_",
                                                        "n_group",
                                                        "aux_loss_alpha",
                                                        "seq_aux",
                                                        "routed_scaling_factor",
                                                        "ep_size",
                                                        "quantization_config",
                                                        "summary_",
                                                        "task_specific_params",
                                                        "scale_attn_weights",
                                                        "reorder_and_upcast_attn",
                                                        "scale_attn_by_inverse_layer_idx",
                                                        "layer_types",
                                                        "mlp_only_layers",
                                                        "swiglu_limit",
                                                        "initial_context_length",
                                                        "logit_scale"};

void Config::refuse_unknown_keys() const {
  for (const auto& [key, value] : json_.members()) {
    const bool read = std::ranges::find(kRead, key) != kRead.end();
    const bool harmless = std::ranges::any_of(kHarmless, [&key = key](std::string_view known) {
      return known.back() == '_' ? key.starts_with(known) : key == known;
    });
    TY_REQUIRE(read || harmless,
               "{}: the key '{}' is not known; what it changes would not be counted. Remove it if "
               "it changes no size, or give the sizes (layers, hidden, heads, vocab)",
               origin_, key);
  }
}

// What a family has without saying so.
struct Family {
  std::string_view type;
  bool gated = false;
  bool rms_norm = false;
  bool bias = false;
  bool qkv_bias = false;
  bool tied = false;
  bool qk_norm = false;
  bool encoder = false;
};

constexpr std::array kFamilies = {
    Family{.type = "llama", .gated = true, .rms_norm = true},
    Family{.type = "mistral", .gated = true, .rms_norm = true},
    Family{.type = "mixtral", .gated = true, .rms_norm = true},
    Family{.type = "qwen2", .gated = true, .rms_norm = true, .qkv_bias = true},
    Family{.type = "qwen3", .gated = true, .rms_norm = true, .qk_norm = true},
    Family{.type = "qwen3_moe", .gated = true, .rms_norm = true, .qk_norm = true},
    Family{.type = "deepseek_v2", .gated = true, .rms_norm = true},
    Family{.type = "deepseek_v3", .gated = true, .rms_norm = true},
    Family{.type = "kimi_k2", .gated = true, .rms_norm = true},
    Family{.type = "gpt_oss", .gated = true, .rms_norm = true, .bias = true, .qkv_bias = true},
    Family{.type = "gpt2", .bias = true, .qkv_bias = true, .tied = true},
    Family{.type = "opt", .bias = true, .qkv_bias = true, .tied = true},
    Family{.type = "mpt", .tied = true},
    Family{.type = "bert", .bias = true, .qkv_bias = true, .tied = true, .encoder = true}};

const Family& family_of(const Config& config) {
  const std::string type = config.text_or("model_type", "");
  std::vector<std::string> names;
  for (const Family& family : kFamilies) {
    if (family.type == type) return family;
    names.emplace_back(family.type);
  }
  throw_error("{}: model_type is '{}', expected one of {}; for another give its sizes",
              config.origin(), type, join(names, ", "));
}

void read_experts(const Config& config, Transformer& model) {
  model.experts = config.integer_or({"num_local_experts", "n_routed_experts", "num_experts"}, 0);
  if (model.experts == 0) return;
  model.top_k = config.integer({"num_experts_per_tok", "experts_per_token"});
  model.expert_ffn = config.integer_or({"moe_intermediate_size"}, model.ffn);
  model.dense_layers = config.integer_or({"first_k_dense_replace"}, 0);
  model.shared_ffn = config.integer_or({"n_shared_experts"}, 0) * model.expert_ffn;
}

void read_latent(const Config& config, Transformer& model) {
  model.latent.kv_rank = config.integer_or({"kv_lora_rank"}, 0);
  if (!model.is_latent()) return;
  model.latent.query_rank = config.integer_or({"q_lora_rank"}, 0);
  model.latent.rope_size = config.integer({"qk_rope_head_dim"});
  model.latent.value_size = config.integer({"v_head_dim"});
  model.head_size = config.integer({"qk_nope_head_dim"});
  model.kv_heads = model.heads;
}

void read_sizes(const Config& config, Transformer& model) {
  model.layers = config.integer({"num_hidden_layers", "n_layer", "n_layers"});
  model.hidden = config.integer({"hidden_size", "n_embd", "d_model"});
  model.heads = config.integer({"num_attention_heads", "n_head", "n_heads"});
  model.kv_heads = config.integer_or({"num_key_value_heads"}, model.heads);
  model.head_size = config.integer_or({"head_dim"}, 0);
  model.ffn = config.integer_or({"intermediate_size", "n_inner", "ffn_dim"}, 4 * model.hidden);
  model.vocab = config.integer({"vocab_size"});
}

void read_traits(const Config& config, const Family& family, Transformer& model) {
  model.gated = family.gated;
  model.rms_norm = family.rms_norm;
  model.bias = family.bias || config.flag_or("mlp_bias", false);
  model.qkv_bias = family.qkv_bias || config.flag_or("attention_bias", false);
  model.qk_norm = family.qk_norm;
  model.causal = !family.encoder;
  model.pooler = family.encoder;
  model.tied = config.flag_or("tie_word_embeddings", family.tied);
}

}  // namespace

Transformer model_of_config(std::string_view text, const std::string& origin) {
  const Config config(text, origin);
  const Family& family = family_of(config);
  config.refuse_unknown_keys();
  Transformer model;
  model.name = origin;
  model.source = origin;
  read_sizes(config, model);
  read_experts(config, model);
  read_latent(config, model);
  read_traits(config, family, model);
  const int64_t longest =
      config.integer_or({"max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"}, 2048);
  if (!model.rms_norm) model.positions = longest;
  if (family.type == "opt") model.positions += 2;
  model.token_types = config.integer_or({"type_vocab_size"}, 0);
  model.sequence = std::min<int64_t>(longest, 8192);
  complete(model);
  return model;
}

}  // namespace trainyard::transformer
