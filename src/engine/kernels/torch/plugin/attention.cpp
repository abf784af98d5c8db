// Attention, its gradients and RotaryEmbedding.
#include <cmath>
#include <limits>

#include "engine/kernels/torch/plugin/precision.h"

namespace trainyard::torch_plugin {
namespace {

enum AttentionInput : size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kLengths };
constexpr double kMasked = -std::numeric_limits<double>::infinity();

// Batch x rows x (heads x columns) as batch x heads x rows x columns, which it may be already.
Tensor by_heads(const Tensor& x, int64_t heads) {
  if (x.dim() == 4) return x;
  return x.view({x.size(0), x.size(1), heads, -1}).transpose(1, 2);
}

const char* refuses_mask(const Node& node, size_t mask) {
  const bool known = !node.has_input(mask) || node.input(mask).type == kTorchF32 ||
                     node.input(mask).type == kTorchBool;
  return known ? "" : "the mask is neither f32 nor bool";
}

const char* refuses_attention(const Node& node) {
  for (const size_t i : {kQuery, kKey, kValue, kPastKey, kPastValue}) {
    if (node.has_input(i) && node.input(i).type != kTorchF32) return "only f32 is implemented";
  }
  if (node.has_input(kLengths)) return "lengths of rows are not implemented";
  if (node.has_output(3)) return "the scores as a result are not implemented";
  return refuses_mask(node, kMask);
}

// What forward and backward share: the heads, and the shares that queries give to keys.
struct Heads {
  explicit Heads(const Node& node)
      : query_heads(node.input_rank(kQuery) == 4 ? node.input_dims(kQuery)[1]
                                                 : node.attr_int("q_num_heads", 1)),
        heads(node.input_rank(kKey) == 4 ? node.input_dims(kKey)[1]
                                         : node.attr_int("kv_num_heads", 1)),
        scale(node.attr_float("scale", 0)),
        softcap(node.attr_float("softcap", 0)),
        causal(node.attr_int("is_causal", 0) != 0) {}

  // One for each head of queries.
  Tensor repeated(const Tensor& x) const {
    return heads == query_heads ? x : x.repeat_interleave(query_heads / heads, 1);
  }
  double factor_of(const Tensor& q) const {
    return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(q.size(3)));
  }

  // What is added to the scores, batch x heads x queries x keys or stretched; undefined: nothing.
  // The last `own_keys` are of this call.
  Tensor added(Tensor mask, const Tensor& q, int64_t keys, int64_t own_keys) const {
    if (mask.defined() && mask.scalar_type() == at::kBool) {
      mask = at::zeros(mask.sizes(), q.options()).masked_fill_(mask.logical_not(), kMasked);
    }
    // Keys that it does not speak of are masked.
    if (mask.defined() && mask.size(-1) != 1 && mask.size(-1) < keys) {
      mask = at::constant_pad_nd(mask, {0, keys - mask.size(-1)}, kMasked);
    }
    if (!causal) return mask;
    const Tensor later =
        at::full({q.size(2), keys}, kMasked, q.options()).triu_(1 + keys - own_keys);
    return mask.defined() ? at::add(mask, later) : later;
  }

  // Of q and all keys, both with as many heads.
  Tensor shares(const Tensor& q, const Tensor& k, const Tensor& mask, int64_t own_keys) const {
    Tensor scores = product(at::matmul(factor(at::mul(q, factor_of(q))), factor(k.transpose(2, 3))))
                        .to(q.scalar_type());
    if (softcap > 0) scores.div_(softcap).tanh_().mul_(softcap);
    const Tensor more = added(mask, q, k.size(2), own_keys);
    if (more.defined()) scores = at::add(scores, more);
    Tensor shares = at::softmax(scores, 3);
    // A query that may look at nothing gives zeros.
    if (more.defined()) shares.nan_to_num_(0.0);
    return shares;
  }

  int64_t query_heads;
  int64_t heads;
  double scale;  // 0: the usual one
  double softcap;
  bool causal;
};

Tensor input_or_none(const Tensors& in, size_t i) {
  return i < in.size() ? in[i] : Tensor();
}

// Batch x heads x rows x columns into a result of either form.
void store_heads(const Tensor& x, const Tensor& out) {
  out.copy_(out.dim() == 3 ? x.transpose(1, 2).reshape(out.sizes()) : x);
}

struct Attention : Heads {
  using Heads::Heads;

  // Keys or values with those of calls before.
  static Tensor all_rows(const Tensor& now, const Tensor& past) {
    return past.defined() ? at::cat({past, now}, 2) : now;
  }

  void operator()(const Tensors& in, const Tensors& out) const {
    const Tensor q = by_heads(in[kQuery], query_heads);
    const Tensor now = by_heads(in[kKey], heads);
    const Tensor k = all_rows(now, input_or_none(in, kPastKey));
    const Tensor v = all_rows(by_heads(in[kValue], heads), input_or_none(in, kPastValue));
    if (out.size() > 1 && out[1].defined()) out[1].copy_(k);
    if (out.size() > 2 && out[2].defined()) out[2].copy_(v);
    const Tensor p = shares(q, repeated(k), input_or_none(in, kMask), now.size(2));
    store_heads(product(at::matmul(factor(p), factor(repeated(v)))), out[0]);
  }
};

Run make_attention(const Node& node) {
  return Attention(node);
}

// --- the gradients of an Attention without a past, from (query, key, value, dy, mask)

constexpr size_t kGradientOfY = 3;
constexpr size_t kMaskOfGradient = 4;

const char* refuses_attention_gradient(const Node& node) {
  for (size_t i = 0; i <= kGradientOfY; ++i) {
    if (node.input(i).type != kTorchF32) return "only f32 is implemented";
  }
  return refuses_mask(node, kMaskOfGradient);
}

struct AttentionGradient : Heads {
  using Heads::Heads;

  // The sum over the query heads that share a head of keys.
  Tensor summed(const Tensor& x) const {
    if (heads == query_heads) return x;
    return x.reshape({x.size(0), heads, query_heads / heads, x.size(2), x.size(3)})
        .sum(2, /*keepdim=*/false, at::kFloat);
  }

  void operator()(const Tensors& in, const Tensors& out) const {
    const Tensor q = by_heads(in[kQuery], query_heads);
    const Tensor k = repeated(by_heads(in[kKey], heads));
    const Tensor v = repeated(by_heads(in[kValue], heads));
    const Tensor dy = factor(by_heads(in[kGradientOfY], query_heads));
    const Tensor p = shares(q, k, input_or_none(in, kMaskOfGradient), k.size(2));
    const Tensor dp = product(at::matmul(dy, factor(v.transpose(2, 3)))).to(q.scalar_type());
    const Tensor scores =
        factor(at::_softmax_backward_data(dp, p, 3, q.scalar_type()).mul_(factor_of(q)));
    store_heads(product(at::matmul(scores, factor(k))), out[0]);
    store_heads(summed(product(at::matmul(scores.transpose(2, 3), factor(q)))), out[1]);
    store_heads(summed(product(at::matmul(factor(p).transpose(2, 3), dy))), out[2]);
  }
};

Run make_attention_gradient(const Node& node) {
  return AttentionGradient(node);
}

const char* refuses_rotary(const Node& node) {
  for (size_t i = 0; i < 3; ++i) {
    if (node.input(i).type != kTorchF32) return "only f32 is implemented";
  }
  if (node.input_rank(0) == 3 && node.attr_int("num_heads", 0) == 0)
    return "the heads are not told";
  if (!node.has_input(3)) return "";
  const Ints x = node.input_dims(0);
  const Ints positions = node.input_dims(3);
  const int64_t rows = x.size() == 4 ? x[2] : x[1];
  return positions == Ints{x[0], rows} ? "" : "positions that are stretched are not implemented";
}

Run make_rotary(const Node& node) {
  const int64_t heads = node.attr_int("num_heads", 0);
  const bool interleaved = node.attr_int("interleaved", 0) != 0;
  return [=](const Tensors& in, const Tensors& out) {
    const Tensor x = by_heads(in[0], heads);
    Tensor cosines = in[1];
    Tensor sines = in[2];
    if (in.size() > 3 && in[3].defined()) {
      const Tensor positions = in[3].reshape({-1}).to(at::kLong);
      const Ints dims = {x.size(0), x.size(2), cosines.size(1)};
      cosines = at::index_select(cosines, 0, positions).view(dims);
      sines = at::index_select(sines, 0, positions).view(dims);
    }
    cosines = cosines.unsqueeze(1);
    sines = sines.unsqueeze(1);
    const int64_t half = cosines.size(3);
    const Tensor turned = x.narrow(3, 0, 2 * half);
    const Tensor a = interleaved ? turned.slice(3, 0, c10::nullopt, 2) : turned.narrow(3, 0, half);
    const Tensor b =
        interleaved ? turned.slice(3, 1, c10::nullopt, 2) : turned.narrow(3, half, half);
    const Tensor left = at::sub(at::mul(a, cosines), at::mul(b, sines));
    const Tensor right = at::add(at::mul(a, sines), at::mul(b, cosines));
    const Tensor pairs =
        interleaved ? at::stack({left, right}, 4).flatten(3) : at::cat({left, right}, 3);
    const Tensor y = at::cat({pairs, x.narrow(3, 2 * half, x.size(3) - 2 * half)}, 3);
    store_heads(y, out[0]);
  };
}

constexpr Operator kAttentions[] = {
    {"Attention", refuses_attention, make_attention},
    {"AttentionGrad", refuses_attention_gradient, make_attention_gradient},
    {"RotaryEmbedding", refuses_rotary, make_rotary},
};

}  // namespace

std::span<const Operator> attention_operators() {
  return kAttentions;
}

}  // namespace trainyard::torch_plugin
