// LinearAttention: a state S (columns of keys x columns of values) per head that each row updates
// and reads: S = exp(decay) S + k w, y = scale q S, where w is v, or beta (v - k S) by the delta
// rule.
#include "ops/nn/linear_attention.h"

#include <cmath>

#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kLinearAttentionAttributes[] = {{"chunk_size", AttrKind::kInt},
                                                   {"kv_num_heads", AttrKind::kInt, true},
                                                   {"q_num_heads", AttrKind::kInt, true},
                                                   {"scale", AttrKind::kFloat},
                                                   {"update_rule", AttrKind::kText}};

// The state of calls before, and decay and beta of each row.
void require_state_and_rates(const NodeView& node, const AttentionShape& a) {
  if (node.has_input(3)) {
    require_dims("the past state is", node.input_shape(3),
                 {a.batch, a.heads, a.depth, a.value_depth});
  }
  for (const size_t i : {size_t{4}, size_t{5}}) {
    if (!node.has_input(i)) continue;
    const Shape& rates = node.input_shape(i);
    const int64_t other = i == 4 ? a.heads * a.depth : 1;
    const bool fits = rates.rank() == 3 && same_dim(rates[0], a.batch) &&
                      same_dim(rates[1], a.queries) &&
                      (same_dim(rates[2], a.heads) || rates[2] == other);
    TY_REQUIRE(fits, "{} has shape {}, expected {} x {} x {} or {}", i == 4 ? "the decay" : "beta",
               rates.to_string(), a.batch, a.queries, a.heads, other);
  }
}

std::vector<TensorType> infer_linear_attention(const NodeView& node) {
  const AttentionShape a = linear_attention_shape(node);
  const DType dtype = node.input_type(0).dtype;
  const std::string rule = node.attr_text("update_rule", "gated_delta");
  TY_REQUIRE(rule == "linear" || rule == "gated" || rule == "delta" || rule == "gated_delta",
             "update_rule '{}' is not one of linear, gated, delta, gated_delta", rule);
  const bool gated = rule.starts_with("gated");
  const bool delta = rule.ends_with("delta");
  TY_REQUIRE(node.has_input(4) == gated || !gated, "update_rule '{}' needs input 4, the decay",
             rule);
  TY_REQUIRE(node.has_input(5) == delta || !delta, "update_rule '{}' needs input 5, beta", rule);
  require_floats(node, {1, 2, 3, 4, 5});
  require_state_and_rates(node, a);
  return {{dtype, {a.batch, a.queries, a.query_heads * a.value_depth}},
          {dtype, {a.batch, a.heads, a.depth, a.value_depth}}};
}

Cost cost_linear_attention(const NodeView& node) {
  const AttentionShape a = linear_attention_shape(node);
  Cost cost = traffic(node);
  cost.macs = a.batch * a.queries * (a.query_heads + 3 * a.heads) * a.depth * a.value_depth;
  cost.flops = 2 * cost.macs;
  return cost;
}

}  // namespace

AttentionShape linear_attention_shape(const NodeView& node) {
  const Shape& q = node.input_shape(0);
  const Shape& k = node.input_shape(1);
  const Shape& v = node.input_shape(2);
  AttentionShape a;
  a.query_heads = node.attr_int("q_num_heads", 0);
  a.heads = node.attr_int("kv_num_heads", 0);
  TY_REQUIRE(q.rank() == 3 && k.rank() == 3 && v.rank() == 3 && a.heads > 0 &&
                 a.query_heads % a.heads == 0 && a.query_heads > 0 && q[0] == k[0] &&
                 k[0] == v[0] && q[1] == k[1] && k[1] == v[1] && q[2] % a.query_heads == 0 &&
                 v[2] % a.heads == 0 && k[2] == q[2] / a.query_heads * a.heads,
             "queries {}, keys {} and values {} do not fit {} and {} heads", q.to_string(),
             k.to_string(), v.to_string(), a.query_heads, a.heads);
  a.batch = q[0];
  a.queries = q[1];
  a.keys = k[1];
  a.depth = q[2] / a.query_heads;
  a.value_depth = v[2] / a.heads;
  a.q = {q[1] * q[2], a.depth, q[2]};
  a.k = {k[1] * k[2], a.depth, k[2]};
  a.v = {v[1] * v[2], a.value_depth, v[2]};
  const int64_t width = a.query_heads * a.value_depth;
  a.y = {a.queries * width, a.value_depth, width};
  const float given = node.attr_float("scale", 0);
  a.scale = given != 0 ? double{given} : 1 / std::sqrt(static_cast<double>(a.depth));
  return a;
}

// Inputs: query, key, value, state of calls before, decay (per column of keys, or per head), beta
// (per head, or one). Outputs: y, state.
extern const OpDef kLinearAttention = {.name = "LinearAttention",
                                       .kind = OpKind::kLinear,
                                       .inputs = {3, 6},
                                       .outputs = {1, 2},
                                       .attributes = kLinearAttentionAttributes,
                                       .infer = infer_linear_attention,
                                       .cost = cost_linear_attention};

}  // namespace trainyard::ops
