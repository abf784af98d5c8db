// AttentionGrad: the gradients of queries, keys and values of an Attention without a past, from
// (query, key, value, dy, mask), with the attributes of that Attention.
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/nn/attention.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kAttentionGradAttributes[] = {{"is_causal", AttrKind::kInt},
                                                 {"kv_num_heads", AttrKind::kInt},
                                                 {"q_num_heads", AttrKind::kInt},
                                                 {"scale", AttrKind::kFloat}};

std::vector<TensorType> infer_attention_grad(const NodeView& node) {
  const AttentionShape a = attention_heads(node);
  require_floats(node, {1, 2, 3});
  Shape y{a.batch, a.query_heads, a.queries, a.value_depth};
  if (node.input_shape(0).rank() == 3) {
    y = {a.batch, a.queries, dim_product(a.query_heads, a.value_depth)};
  }
  TY_REQUIRE(node.input_shape(3) == y, "dy has shape {}, expected {}",
             node.input_shape(3).to_string(), y.to_string());
  if (node.has_input(4)) require_attention_mask(node.input_shape(4), a);
  return {node.input_type(0), node.input_type(1), node.input_type(2)};
}

// Five products where the forward pass has two; the scores once more.
Cost cost_attention_grad(const NodeView& node) {
  const AttentionShape a = attention_heads(node);
  const int64_t scores = a.batch * a.query_heads * a.queries * a.keys;
  Cost cost = traffic(node);
  cost.macs = scores * (3 * a.depth + 2 * a.value_depth);
  cost.flops = 2 * cost.macs + 8 * scores;
  return cost;
}

}  // namespace

extern const OpDef kAttentionGrad = {.name = "AttentionGrad",
                                     .kind = OpKind::kLinear,
                                     .inputs = {4, 5},
                                     .outputs = {3, 3},
                                     .attributes = kAttentionGradAttributes,
                                     .infer = infer_attention_grad,
                                     .cost = cost_attention_grad};

}  // namespace trainyard::ops
