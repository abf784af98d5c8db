#include "cluster/transformer/model.h"

#include "base/checked.h"
#include "base/error.h"

namespace trainyard::transformer {
namespace {

constexpr int64_t kMostLayers = 100000;

void check_size(const Transformer& model, const char* name, int64_t value, int64_t most) {
  TY_REQUIRE(value >= 1 && value <= most, "{}: {} is {}, expected 1 to {}",
             model.name.empty() ? "model" : model.name, name, value, most);
}

int64_t feed_forward_weights(const Transformer& model, int64_t width) {
  if (width == 0) return 0;
  const int64_t in = model.gated ? 2 : 1;
  const int64_t weights = checked_product({in + 1, model.hidden, width});
  return model.bias ? weights + in * width + model.hidden : weights;
}

int64_t latent_attention(const Transformer& model) {
  const Latent& latent = model.latent;
  const int64_t query = model.heads * (model.head_size + latent.rope_size);
  const int64_t queries = latent.query_rank > 0
                              ? (model.hidden + query) * latent.query_rank + latent.query_rank
                              : model.hidden * query;
  const int64_t down = model.hidden * (latent.kv_rank + latent.rope_size) + latent.kv_rank;
  const int64_t up = latent.kv_rank * model.heads * (model.head_size + latent.value_size);
  return queries + down + up + model.output_width() * model.hidden;
}

int64_t attention_weights(const Transformer& model) {
  if (model.is_latent()) return latent_attention(model);
  const int64_t in = model.query_width() + 2 * model.kv_width();
  int64_t weights = checked_product({model.hidden, in + model.query_width()});
  if (model.qkv_bias) weights += in;
  if (model.bias) weights += model.hidden;
  return weights;
}

int64_t norm_weights(const Transformer& model) {
  return model.rms_norm ? model.hidden : 2 * model.hidden;
}

LayerParameters layer_without_ffn(const Transformer& model) {
  LayerParameters layer;
  layer.attention = attention_weights(model);
  layer.norms = 2 * norm_weights(model) + (model.qk_norm ? 2 * model.head_size : 0);
  return layer;
}

void check_experts(const Transformer& model) {
  if (model.experts == 0) return;
  check_size(model, "experts", model.experts, 1 << 16);
  check_size(model, "top_k", model.top_k, model.experts);
  check_size(model, "expert_ffn", model.expert_ffn, kWidest);
  TY_REQUIRE(model.dense_layers >= 0 && model.dense_layers < model.layers,
             "{}: dense_layers is {}, expected 0 to {}", model.name, model.dense_layers,
             model.layers - 1);
}

}  // namespace

int64_t Transformer::query_width() const {
  return heads * (head_size + latent.rope_size);
}
int64_t Transformer::kv_width() const {
  return kv_heads * head_size;
}
int64_t Transformer::output_width() const {
  return is_latent() ? heads * latent.value_size : query_width();
}

void complete(Transformer& model) {
  check_size(model, "layers", model.layers, kMostLayers);
  check_size(model, "hidden", model.hidden, kWidest);
  check_size(model, "heads", model.heads, kWidest);
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  check_size(model, "kv_heads", model.kv_heads, model.heads);
  TY_REQUIRE(model.heads % model.kv_heads == 0, "{}: kv_heads {} does not divide heads {}",
             model.name, model.kv_heads, model.heads);
  if (model.head_size == 0) {
    TY_REQUIRE(model.hidden % model.heads == 0, "{}: heads {} does not divide hidden {}",
               model.name, model.heads, model.hidden);
    model.head_size = model.hidden / model.heads;
  }
  check_size(model, "head_size", model.head_size, kWidest);
  if (model.ffn == 0) model.ffn = 4 * model.hidden;
  check_size(model, "ffn", model.ffn, kWidest);
  check_size(model, "vocab", model.vocab, kWidest);
  check_size(model, "sequence", model.sequence, int64_t{1} << 27);
  if (model.experts > 0 && model.expert_ffn == 0) model.expert_ffn = model.ffn;
  check_experts(model);
}

LayerParameters dense_layer(const Transformer& model) {
  LayerParameters layer = layer_without_ffn(model);
  layer.feed_forward = feed_forward_weights(model, model.ffn);
  return layer;
}

LayerParameters expert_layer(const Transformer& model) {
  LayerParameters layer = layer_without_ffn(model);
  layer.feed_forward = feed_forward_weights(model, model.shared_ffn);
  layer.experts = checked_product({model.experts, feed_forward_weights(model, model.expert_ffn)});
  layer.router = model.hidden * model.experts + (model.bias ? model.experts : 0);
  return layer;
}

Parameters count_parameters(const Transformer& model) {
  const int64_t with_experts = model.expert_layers();
  const LayerParameters dense = dense_layer(model);
  const LayerParameters expert = with_experts > 0 ? expert_layer(model) : LayerParameters{};
  const int64_t plain = model.layers - with_experts;
  Parameters count;
  count.embedding = (model.vocab + model.positions + model.token_types) * model.hidden;
  count.attention = checked_product({model.layers, dense.attention});
  count.feed_forward = checked_product({plain, dense.feed_forward}) +
                       checked_product({with_experts, expert.feed_forward});
  count.experts = checked_product({with_experts, expert.experts});
  // A norm before the first layer (BERT) or after the last.
  count.other = model.layers * dense.norms + with_experts * expert.router + norm_weights(model);
  if (model.pooler) count.other += model.hidden * model.hidden + model.hidden;
  count.head = model.tied || model.pooler ? 0 : model.vocab * model.hidden;
  count.total = count.embedding;
  for (const int64_t part :
       {count.attention, count.feed_forward, count.experts, count.other, count.head}) {
    checked_add(count.total, part);
  }
  count.active = count.total - count.experts;
  if (model.experts > 0) count.active += count.experts / model.experts * model.top_k;
  return count;
}

TokenFlops token_flops(const Transformer& model, int64_t sequence) {
  const Parameters count = count_parameters(model);
  const double experts = model.experts > 0 ? static_cast<double>(count.experts) /
                                                 static_cast<double>(model.experts) *
                                                 static_cast<double>(model.top_k)
                                           : 0;
  TokenFlops flops;
  flops.linear = 2 * (static_cast<double>(count.attention + count.feed_forward) + experts);
  const double seen = static_cast<double>(sequence) * (model.causal ? 0.5 : 1);
  flops.attention = 2 * static_cast<double>(model.layers) * seen *
                    static_cast<double>(model.query_width() + model.output_width());
  flops.head = 2.0 * static_cast<double>(model.vocab * model.hidden);
  return flops;
}

}  // namespace trainyard::transformer
