// Attention and RotaryEmbedding.
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

const char* refuses_attention(const Node& node) {
  for (const size_t i : {kQuery, kKey, kValue, kPastKey, kPastValue}) {
    if (node.has_input(i) && node.input(i).type != kTorchF32) return "only f32 is implemented";
  }
  if (node.has_input(kLengths)) return "lengths of rows are not implemented";
  if (node.has_output(3)) return "the scores as a result are not implemented";
  const bool known_mask = !node.has_input(kMask) || node.input(kMask).type == kTorchF32 ||
                          node.input(kMask).type == kTorchBool;
  return known_mask ? "" : "the mask is neither f32 nor bool";
}

struct Attention {
  explicit Attention(const Node& node)
      : query_heads(node.input_rank(kQuery) == 4 ? node.input_dims(kQuery)[1]
                                                 : node.attr_int("q_num_heads", 1)),
        heads(node.input_rank(kKey) == 4 ? node.input_dims(kKey)[1]
                                         : node.attr_int("kv_num_heads", 1)),
        scale(node.attr_float("scale", 0)),
        softcap(node.attr_float("softcap", 0)),
        causal(node.attr_int("is_causal", 0) != 0) {}

  // Keys or values with those of calls before, of the heads of keys.
  Tensor all_rows(const Tensors& in, size_t now, size_t past) const {
    const Tensor rows = by_heads(in[now], heads);
    return past < in.size() && in[past].defined() ? at::cat({in[past], rows}, 2) : rows;
  }

  // What is added to the scores, batch x heads x queries x keys or stretched; undefined: nothing.
  Tensor added(const Tensors& in, int64_t queries, int64_t keys) const {
    Tensor mask = in.size() > kMask ? in[kMask] : Tensor();
    const auto options = in[kQuery].options();
    if (mask.defined() && mask.scalar_type() == at::kBool) {
      mask = at::zeros(mask.sizes(), options).masked_fill_(mask.logical_not(), kMasked);
    }
    // Keys that it does not speak of are masked.
    if (mask.defined() && mask.size(-1) != 1 && mask.size(-1) < keys) {
      mask = at::constant_pad_nd(mask, {0, keys - mask.size(-1)}, kMasked);
    }
    if (!causal) return mask;
    const Tensor later =
        at::full({queries, keys}, kMasked, options).triu_(1 + keys - in_this_call(in));
    return mask.defined() ? at::add(mask, later) : later;
  }

  int64_t in_this_call(const Tensors& in) const {
    return in[kKey].dim() == 4 ? in[kKey].size(2) : in[kKey].size(1);
  }

  void operator()(const Tensors& in, const Tensors& out) const {
    const Tensor q = by_heads(in[kQuery], query_heads);
    Tensor k = all_rows(in, kKey, kPastKey);
    Tensor v = all_rows(in, kValue, kPastValue);
    if (out.size() > 1 && out[1].defined()) out[1].copy_(k);
    if (out.size() > 2 && out[2].defined()) out[2].copy_(v);
    if (heads != query_heads) {
      k = k.repeat_interleave(query_heads / heads, 1);
      v = v.repeat_interleave(query_heads / heads, 1);
    }
    const double by = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(q.size(3)));
    Tensor scores =
        at::matmul(factor(at::mul(q, by)), factor(k.transpose(2, 3))).to(q.scalar_type());
    if (softcap > 0) scores.div_(softcap).tanh_().mul_(softcap);
    const Tensor mask = added(in, q.size(2), k.size(2));
    if (mask.defined()) scores = at::add(scores, mask);
    Tensor shares = at::softmax(scores, 3);
    // A query that may look at nothing gives zeros.
    if (mask.defined()) shares.nan_to_num_(0.0);
    Tensor y = at::matmul(factor(shares), factor(v));
    if (in[kQuery].dim() == 3) y = y.transpose(1, 2).reshape(out[0].sizes());
    out[0].copy_(y);
  }

  int64_t query_heads;
  int64_t heads;
  double scale;  // 0: the usual one
  double softcap;
  bool causal;
};

Run make_attention(const Node& node) {
  return Attention(node);
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
  const bool is_flat = node.input_rank(0) == 3;
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
    Tensor y = at::cat({pairs, x.narrow(3, 2 * half, x.size(3) - 2 * half)}, 3);
    out[0].copy_(is_flat ? y.transpose(1, 2).reshape(out[0].sizes()) : y);
  };
}

constexpr Operator kAttentions[] = {
    {"Attention", refuses_attention, make_attention},
    {"RotaryEmbedding", refuses_rotary, make_rotary},
};

}  // namespace

std::span<const Operator> attention_operators() {
  return kAttentions;
}

}  // namespace trainyard::torch_plugin
