#include "models/onnx/lower.h"

#include <array>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "ops/builder.h"
#include "ops/nn/attention.h"
#include "ops/nn/rotary_embedding.h"

namespace trainyard::onnx_io {
namespace {

using Ints = std::vector<int64_t>;

// Operators added to ONNX after opset 17, which the graph's own semantics go up to.
struct Newer {
  std::string_view op;
  int64_t opset;
};

constexpr std::array<Newer, 16> kNewer = {{{"AffineGrid", 20},
                                           {"Attention", 23},
                                           {"BitwiseAnd", 18},
                                           {"BitwiseNot", 18},
                                           {"BitwiseOr", 18},
                                           {"BitwiseXor", 18},
                                           {"CenterCropPad", 18},
                                           {"Col2Im", 18},
                                           {"CumProd", 26},
                                           {"BitCast", 26},
                                           {"Gelu", 20},
                                           {"Mish", 18},
                                           {"RMSNormalization", 23},
                                           {"RotaryEmbedding", 23},
                                           {"Swish", 24},
                                           {"TensorScatter", 24}}};

// Adds the nodes that stand for one node, before which they are put.
class Replacement {
 public:
  Replacement(Graph& graph, NodeId id) : builder_(graph), node_(graph, id) {
    builder_.set_prefix(node_.name() + ".");
  }

  const NodeView& node() const { return node_; }
  ValueId x(size_t i = 0) const { return node_.input(i); }
  ValueId add(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return builder_.add(op, std::move(inputs), std::move(attributes));
  }
  // In the type of the node's first input, as arithmetic operators want both operands alike.
  ValueId number(double value) {
    return builder_.constant("number", cast(Tensor::scalar(value), node_.input_type(0).dtype));
  }
  ValueId ints(const Ints& values) { return builder_.constant_ints("ints", values); }
  ValueId transpose(ValueId value, Ints order) {
    return add("Transpose", {value}, {{"perm", std::move(order)}});
  }

 private:
  ops::Builder builder_;
  NodeView node_;
};

ValueId lower_gelu(Replacement& r) {
  const ValueId x = r.x();
  const ValueId half = r.number(0.5);
  if (r.node().attr_text("approximate", "none") == "tanh") {
    // x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    const ValueId cube = r.add("Mul", {r.add("Mul", {x, x}), x});
    const ValueId sum = r.add("Add", {x, r.add("Mul", {cube, r.number(0.044715)})});
    const ValueId scaled = r.add("Mul", {sum, r.number(std::sqrt(2 / std::numbers::pi))});
    const ValueId gate = r.add("Add", {r.add("Tanh", {scaled}), r.number(1)});
    return r.add("Mul", {r.add("Mul", {x, half}), gate});
  }
  const ValueId erf = r.add("Erf", {r.add("Div", {x, r.number(std::numbers::sqrt2)})});
  return r.add("Mul", {r.add("Mul", {x, r.add("Add", {erf, r.number(1)})}), half});
}

// x sigmoid(alpha x)
ValueId lower_swish(Replacement& r) {
  const double alpha = double{r.node().attr_float("alpha", 1.0F)};
  const ValueId inner = alpha == 1 ? r.x() : r.add("Mul", {r.x(), r.number(alpha)});
  return r.add("Mul", {r.x(), r.add("Sigmoid", {inner})});
}

// x / sqrt(mean(x^2) + epsilon) * scale, the mean over `axis` and all axes after it.
ValueId lower_rms(Replacement& r) {
  const int64_t rank = r.node().input_shape(0).rank();
  Ints axes;
  for (int64_t i = normalize_axis(r.node().attr_int("axis", -1), rank, r.node().op()); i < rank;
       ++i) {
    axes.push_back(i);
  }
  const ValueId mean = r.add("ReduceMean", {r.add("Mul", {r.x(), r.x()})}, {{"axes", axes}});
  const double epsilon = double{r.node().attr_float("epsilon", 1e-5F)};
  const ValueId root = r.add("Sqrt", {r.add("Add", {mean, r.number(epsilon)})});
  return r.add("Mul", {r.add("Div", {r.x(), root}), r.x(1)});
}

// Products of batch x heads x rows x columns, as exporters of PyTorch write it. A batch of any size
// stays possible.
ValueId lower_attention(Replacement& r) {
  const ops::AttentionShape a = ops::attention_shape(r.node());
  // Without a past, a softcap, or outputs beside the result.
  const bool plain = r.node().num_inputs() <= 4 && r.node().num_outputs() == 1 && a.softcap == 0;
  if (!plain) return kNoValue;
  const bool rows = r.node().input_shape(0).rank() == 3;
  const auto heads = [&](size_t i, int64_t depth) {
    const int64_t own = i == 0 ? a.query_heads : a.heads;
    ValueId cut = r.x(i);
    if (rows) {
      cut = r.add("Reshape", {cut, r.ints({0, 0, own, depth})});
      cut = r.transpose(cut, {0, 2, 1, 3});
    }
    if (own == a.query_heads) return cut;
    // Each head of keys and values once for every head of queries that shares it.
    const ValueId apart = r.add("Unsqueeze", {cut, r.ints({2})});
    const ValueId often = r.add("Expand", {apart, r.ints({1, 1, a.query_heads / own, 1, 1})});
    return r.add("Reshape", {often, r.ints({0, a.query_heads, -1, depth})});
  };
  const ValueId keys = r.transpose(heads(1, a.depth), {0, 1, 3, 2});
  ValueId scores = r.add("MatMul", {heads(0, a.depth), keys});
  scores = r.add("Mul", {scores, r.number(a.scale)});
  // Finite: the softmax of a row of -inf alone would be NaN.
  constexpr double kMasked = -1e30;
  if (r.node().has_input(3)) {
    ValueId mask = r.x(3);
    if (r.node().input_type(3).dtype == DType::kBool) {
      mask = r.add("Where", {mask, r.number(0), r.number(kMasked)});
    }
    scores = r.add("Add", {scores, mask});
  }
  // Keys after the query: above the diagonal.
  if (a.causal) {
    const ValueId all = r.add("Expand", {r.number(kMasked), r.ints({1, 1, a.queries, a.keys})});
    const ValueId one = r.add("Constant", {}, {{"value_int", int64_t{1}}});
    scores = r.add("Add", {scores, r.add("Trilu", {all, one}, {{"upper", int64_t{1}}})});
  }
  const ValueId shares = r.add("Softmax", {scores}, {{"axis", int64_t{-1}}});
  const ValueId y = r.add("MatMul", {shares, heads(2, a.value_depth)});
  if (!rows) return y;
  const ValueId back = r.transpose(y, {0, 2, 1, 3});
  return r.add("Reshape", {back, r.ints({0, 0, a.query_heads * a.value_depth})});
}

// Both halves of each head's columns, turned: (a cos - b sin, b cos + a sin).
ValueId lower_rotary(Replacement& r) {
  const ops::RotaryShape s = ops::rotary_shape(r.node());
  const bool plain = r.node().input_shape(0).rank() == 3 && r.node().has_input(3) &&
                     !s.interleaved && s.turned == s.depth &&
                     r.node().input_shape(3) == Shape{s.batch, s.rows};
  if (!plain) return kNoValue;
  const ValueId cut = r.add("Reshape", {r.x(), r.ints({0, 0, s.heads, s.depth})});
  const auto half = [&](int64_t begin) {
    return r.add("Slice", {cut, r.ints({begin}), r.ints({begin + s.depth / 2}), r.ints({3})});
  };
  const auto table = [&](size_t i) {
    return r.add("Unsqueeze", {r.add("Gather", {r.x(i), r.x(3)}), r.ints({2})});
  };
  const ValueId a = half(0);
  const ValueId b = half(s.depth / 2);
  const ValueId cosine = table(1);
  const ValueId sine = table(2);
  const auto product = [&](ValueId x, ValueId y) { return r.add("Mul", {x, y}); };
  const ValueId first = r.add("Sub", {product(a, cosine), product(b, sine)});
  const ValueId second = r.add("Add", {product(b, cosine), product(a, sine)});
  const ValueId turned = r.add("Concat", {first, second}, {{"axis", int64_t{3}}});
  return r.add("Reshape", {turned, r.ints({0, 0, s.heads * s.depth})});
}

using Rule = ValueId (*)(Replacement&);

Rule rule_for(const NodeView& node, int64_t opset) {
  if (opset < first_opset_of(node.op())) {
    if (node.op() == "Gelu") return lower_gelu;
    if (node.op() == "Swish") return lower_swish;
    if (node.op() == "RMSNormalization") return lower_rms;
    if (node.op() == "Attention") return lower_attention;
    if (node.op() == "RotaryEmbedding") return lower_rotary;
  }
  return nullptr;
}

}  // namespace

int64_t first_opset_of(std::string_view op) {
  for (const Newer& row : kNewer) {
    if (row.op == op) return row.opset;
  }
  return 0;
}

Graph lower_to_opset(const Graph& graph, int64_t opset) {
  Graph lowered = graph;
  for (const NodeId id : lowered.node_ids()) {
    const Rule rule = rule_for({lowered, id}, opset);
    if (rule == nullptr) continue;
    Replacement replacement(lowered, id);
    const ValueId made = rule(replacement);
    // Its rule cannot write this one, so it stays and the exporter names it.
    if (!made.valid()) continue;
    const ValueId old = lowered.node(id).outputs[0];
    const std::string name = lowered.value(old).name;
    lowered.replace_uses(old, made);
    lowered.erase_node(id);
    // The new value takes the name over, as outputs of the graph are known by theirs.
    lowered.rename_value(old, lowered.unique_name(name + ".replaced"));
    lowered.rename_value(made, name);
  }
  lowered.sort();
  return lowered;
}

}  // namespace trainyard::onnx_io
