// Attention: softmax(Q K^T * scale + mask) V for each head (Vaswani et al. 2017), with fewer heads
// of keys and values than of queries if wanted, and with keys and values of calls before.
#include "ops/nn/attention.h"

#include <cmath>

#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kAttentionAttributes[] = {
    {"is_causal", AttrKind::kInt},        {"kv_num_heads", AttrKind::kInt},
    {"q_num_heads", AttrKind::kInt},      {"qk_matmul_output_mode", AttrKind::kInt},
    {"scale", AttrKind::kFloat},          {"softcap", AttrKind::kFloat},
    {"softmax_precision", AttrKind::kInt}};

enum Operand : size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kLengths };

struct Heads {
  int64_t heads = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  HeadStrides strides;
};

// The heads of an operand of either form.
Heads heads_of(const Shape& shape, int64_t heads, std::string_view what) {
  if (shape.rank() == 4) {
    return {shape[1],
            shape[2],
            shape[3],
            {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3]}};
  }
  TY_REQUIRE(shape.rank() == 3, "the {} has shape {}, expected three or four dimensions", what,
             shape.to_string());
  TY_REQUIRE(heads > 0 && (shape[2] == Shape::kUnknown || shape[2] % heads == 0),
             "the {} of shape {} cannot be cut into {} heads", what, shape.to_string(), heads);
  const int64_t columns = shape[2] == Shape::kUnknown ? Shape::kUnknown : shape[2] / heads;
  return {heads, shape[1], columns, {shape[1] * shape[2], columns, shape[2]}};
}

// One number of valid keys for each batch element.
void require_lengths(const NodeView& node, const AttentionShape& a) {
  if (!node.has_input(kLengths)) return;
  TY_REQUIRE(is_integer(node.input_type(kLengths).dtype), "lengths are {}, expected integers",
             dtype_name(node.input_type(kLengths).dtype));
  require_dims("lengths are", node.input_shape(kLengths), {a.batch});
}

// Rows kept from calls before, of keys and values alike.
int64_t past_rows(const NodeView& node, const AttentionShape& a) {
  TY_REQUIRE(node.has_input(kPastKey) == node.has_input(kPastValue),
             "there are keys of calls before but no values, or values but no keys");
  if (!node.has_input(kPastKey)) return 0;
  const Shape& past = node.input_shape(kPastKey);
  TY_REQUIRE(past.rank() == 4, "past keys have shape {}, expected four dimensions",
             past.to_string());
  require_dims("past keys are", past, {a.batch, a.heads, Shape::kUnknown, a.depth});
  require_dims("past values are", node.input_shape(kPastValue),
               {a.batch, a.heads, past[2], a.value_depth});
  return past[2];
}

std::vector<TensorType> infer_attention(const NodeView& node) {
  const AttentionShape a = attention_shape(node);
  const DType dtype = node.input_type(kQuery).dtype;
  for (const size_t i : {kQuery, kKey, kValue, kPastKey, kPastValue}) {
    TY_REQUIRE(!node.has_input(i) || is_float(node.input_type(i).dtype),
               "it is not defined for elements of type {}", dtype_name(node.input_type(i).dtype));
  }
  if (node.has_input(kMask)) require_attention_mask(node.input_shape(kMask), a);
  require_lengths(node, a);
  const int64_t total = dim_sum(a.past, a.keys);
  Shape y{a.batch, a.query_heads, a.queries, a.value_depth};
  if (node.input_shape(kQuery).rank() == 3) {
    y = {a.batch, a.queries, dim_product(a.query_heads, a.value_depth)};
  }
  return {{dtype, y},
          {node.input_type(kKey).dtype, {a.batch, a.heads, total, a.depth}},
          {node.input_type(kValue).dtype, {a.batch, a.heads, total, a.value_depth}},
          {dtype, {a.batch, a.query_heads, a.queries, total}}};
}

// Both products; four operations per score for scale, exponential and sum.
Cost cost_attention(const NodeView& node) {
  const AttentionShape a = attention_shape(node);
  const int64_t scores = a.batch * a.query_heads * a.queries * a.total();
  Cost cost = traffic(node);
  cost.macs = scores * (a.depth + a.value_depth);
  cost.flops = 2 * cost.macs + 4 * scores;
  return cost;
}

// Nothing of the scores is kept: the backward node computes them again, block by block.
std::vector<ValueId> gradient_attention(GradContext& grad) {
  const AttentionShape a = attention_shape(grad.node());
  TY_REQUIRE(grad.dy(0).valid(), "only output 0 has a gradient rule");
  TY_REQUIRE(a.past == 0 && !grad.node().has_input(kLengths) && a.softcap == 0,
             "keys of calls before, lengths and softcap have no gradient rule");
  std::vector<ValueId> inputs = {grad.x(kQuery), grad.x(kKey), grad.x(kValue), grad.dy()};
  if (grad.node().has_input(kMask)) inputs.push_back(grad.x(kMask));
  Attributes attributes;
  for (const char* name : {"is_causal", "kv_num_heads", "q_num_heads", "scale"}) {
    const Attributes own = grad.attributes();
    if (const auto found = own.find(name); found != own.end()) attributes.insert(*found);
  }
  std::vector<ValueId> dx =
      grad.builder().add_multi("AttentionGrad", std::move(inputs), 3, std::move(attributes));
  dx.resize(grad.node().num_inputs(), kNoValue);
  return dx;
}

}  // namespace

void require_attention_mask(const Shape& mask, const AttentionShape& a) {
  const int64_t rank = mask.rank();
  TY_REQUIRE(rank >= 2 && rank <= 4, "the mask has shape {}, expected two to four dimensions",
             mask.to_string());
  const int64_t expected[] = {a.batch, a.query_heads, a.queries, a.total()};
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t found = mask[rank - 1 - i];
    const int64_t wanted = expected[3 - i];
    const bool shorter = i == 0 && found <= wanted;
    TY_REQUIRE(found == 1 || found == wanted || shorter || found == Shape::kUnknown ||
                   wanted == Shape::kUnknown,
               "the mask has shape {}, expected {} x {} x {} x {} or dimensions of 1",
               mask.to_string(), expected[0], expected[1], expected[2], expected[3]);
  }
}

AttentionShape attention_heads(const NodeView& node) {
  const Heads q = heads_of(node.input_shape(kQuery), node.attr_int("q_num_heads", 0), "query");
  const Heads k = heads_of(node.input_shape(kKey), node.attr_int("kv_num_heads", 0), "key");
  const Heads v = heads_of(node.input_shape(kValue), node.attr_int("kv_num_heads", 0), "value");
  const int64_t batch = node.input_shape(kQuery)[0];
  TY_REQUIRE(same_dim(q.columns, k.columns) && same_dim(k.heads, v.heads) &&
                 same_dim(k.rows, v.rows) && same_dim(batch, node.input_shape(kKey)[0]) &&
                 same_dim(batch, node.input_shape(kValue)[0]) && k.heads != 0 && q.heads != 0 &&
                 q.heads % k.heads == 0,
             "queries {}, keys {} and values {} do not fit each other",
             node.input_shape(kQuery).to_string(), node.input_shape(kKey).to_string(),
             node.input_shape(kValue).to_string());
  AttentionShape a;
  a.batch = batch;
  a.query_heads = q.heads;
  a.heads = k.heads;
  a.queries = q.rows;
  a.keys = k.rows;
  a.depth = q.columns;
  a.value_depth = v.columns;
  a.q = q.strides;
  a.k = k.strides;
  a.v = v.strides;
  a.y = {a.query_heads * a.queries * a.value_depth, a.queries * a.value_depth, a.value_depth};
  if (node.input_shape(kQuery).rank() == 3) {
    a.y = {a.queries * a.query_heads * a.value_depth, a.value_depth, a.query_heads * a.value_depth};
  }
  a.causal = node.attr_int("is_causal", 0) != 0;
  a.softcap = double{node.attr_float("softcap", 0)};
  const double usual = a.depth > 0 ? 1 / std::sqrt(static_cast<double>(a.depth)) : 1.0;
  a.scale = node.has_attr("scale") ? double{node.attr_float("scale", 1)} : usual;
  return a;
}

AttentionShape attention_shape(const NodeView& node) {
  AttentionShape a = attention_heads(node);
  a.past = past_rows(node, a);
  return a;
}

MaskStrides mask_strides(const Shape& mask) {
  const auto dim = [&](int64_t from_end) {
    return from_end <= mask.rank() ? mask[mask.rank() - from_end] : 1;
  };
  MaskStrides strides;
  strides.length = dim(1);
  strides.row = dim(2) == 1 ? 0 : dim(1);
  strides.head = dim(3) == 1 ? 0 : dim(2) * dim(1);
  strides.batch = dim(4) == 1 ? 0 : dim(3) * dim(2) * dim(1);
  return strides;
}

// Inputs: query, key, value, mask (added, or bool: takes part), past key and value, valid keys of
// each batch element. Outputs: y, key and value with the past before them, scores.
extern const OpDef kAttention = {.name = "Attention",
                                 .kind = OpKind::kLinear,
                                 .inputs = {3, 7},
                                 .outputs = {1, 4},
                                 .attributes = kAttentionAttributes,
                                 .infer = infer_attention,
                                 .cost = cost_attention,
                                 .gradient = gradient_attention};

}  // namespace trainyard::ops
