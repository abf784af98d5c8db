// A transformer described by its sizes: what it has of parameters and what a token costs. One layer
// is counted and repeated, so that a thousand layers cost no more than one.
#pragma once

#include <cstdint>
#include <string>

namespace trainyard::transformer {

// The largest hidden size, vocabulary or width of any part.
inline constexpr int64_t kWidest = int64_t{1} << 22;

// Latent attention: keys and values are made of a small vector. 0 in kv_rank: ordinary attention.
struct Latent {
  int64_t query_rank = 0;  // 0: queries are made of the hidden state
  int64_t kv_rank = 0;
  int64_t rope_size = 0;   // of a head, beside head_size
  int64_t value_size = 0;  // of a head
};

struct Transformer {
  std::string name;
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_size = 0;
  int64_t ffn = 0;  // width of a dense feed-forward layer
  int64_t vocab = 0;
  int64_t sequence = 2048;  // tokens, where nothing else is asked for
  // Experts: 0 for a dense network.
  int64_t experts = 0;
  int64_t top_k = 0;
  int64_t expert_ffn = 0;
  int64_t dense_layers = 0;  // the first ones have no experts
  int64_t shared_ffn = 0;    // width of the experts that every token visits
  Latent latent = {};
  int64_t positions = 0;    // learned ones
  int64_t token_types = 0;  // learned ones
  bool gated = false;       // SwiGLU: three matrices instead of two
  bool rms_norm = false;    // a weight without a bias
  bool qkv_bias = false;
  bool bias = false;     // of every linear layer but those of queries, keys and values
  bool tied = false;     // the head is the embedding
  bool qk_norm = false;  // of each head
  bool pooler = false;
  bool causal = true;
  std::string source = {};

  // Widths of all queries, all keys (or values), and what the output projection reads.
  int64_t query_width() const;
  int64_t kv_width() const;
  int64_t output_width() const;
  bool is_latent() const { return latent.kv_rank > 0; }
  int64_t expert_layers() const { return experts > 0 ? layers - dense_layers : 0; }
};

// Fills in what follows from other sizes (kv_heads, head_size, ffn) and refuses what cannot be.
// Throws Error naming the setting.
void complete(Transformer& model);

// Weights of one layer, by what splits them.
struct LayerParameters {
  int64_t attention = 0;
  int64_t feed_forward = 0;  // dense, or the shared experts
  int64_t experts = 0;       // all routed ones
  int64_t router = 0;
  int64_t norms = 0;

  int64_t dense() const { return attention + feed_forward + router + norms; }
  int64_t total() const { return dense() + experts; }
};
LayerParameters dense_layer(const Transformer& model);
LayerParameters expert_layer(const Transformer& model);

struct Parameters {
  int64_t embedding = 0;  // with positions and token types
  int64_t attention = 0;
  int64_t feed_forward = 0;
  int64_t experts = 0;
  int64_t other = 0;  // norms, routers, pooler
  int64_t head = 0;   // 0 where it is the embedding
  int64_t total = 0;
  int64_t active = 0;  // those that a token meets
};
Parameters count_parameters(const Transformer& model);

// Multiply-adds of a token's forward pass count two. Attention is what a causal one needs: half of
// the square.
struct TokenFlops {
  double linear = 0;
  double attention = 0;
  double head = 0;

  double forward() const { return linear + attention + head; }
  // Forward and twice that backward; recomputation is not counted.
  double training() const { return 3 * forward(); }
};
TokenFlops token_flops(const Transformer& model, int64_t sequence);

}  // namespace trainyard::transformer
