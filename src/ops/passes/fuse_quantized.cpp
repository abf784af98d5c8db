// fuse_quantized: operators between DequantizeLinear and QuantizeLinear compute on eight bits; what
// only moves elements moves eight bits.
#include <algorithm>
#include <array>

#include "ops/builder.h"
#include "ops/math/activation.h"
#include "ops/op_def.h"
#include "ops/passes/edit.h"
#include "ops/passes/quantized_match.h"
#include "ops/quantize/quantized.h"

namespace trainyard::passes {
namespace {

using ops::Builder;

bool has_static_types(const NodeView& node) {
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (node.has_input(i) && !node.input_shape(i).is_static()) return false;
  }
  if (!node.has_output(0)) return false;
  return node.output_shape(0).is_static() && node.output_shape(0).num_elements() > 0;
}

template <typename T>
ValueId constant_of(Builder& b, const std::string& name, std::string_view what, const Shape& shape,
                    std::span<const T> values) {
  return b.constant(b.graph().unique_name(name + "." + std::string(what)),
                    Tensor::of<T>(shape, values));
}

// The integers of a quantized convolution.
struct ConvNumbers {
  std::vector<int32_t> bias;
  std::vector<float> multiplier;
};

void give_range(Attributes& attributes, const Requantization& r) {
  attributes["y_zero"] = r.y.zero;
  attributes["low"] = r.low;
  attributes["high"] = r.high;
}

class Fuser {
 public:
  Fuser(Graph& graph, const PassContext& context) : graph_(graph), context_(context), b_(graph) {}

  bool run() {
    bool changed = false;
    for (const NodeId id : graph_.node_ids()) {
      if (graph_.node(id).erased || !has_static_types({graph_, id})) continue;
      changed = fuse(id) || changed;
    }
    if (changed) graph_.sort();
    return changed;
  }

 private:
  bool fuse(NodeId id) {
    const std::string op = graph_.node(id).op;
    if (op == "Conv") return fuse_conv(id);
    if (op == "Gemm" || op == "MatMul") return fuse_product(id);
    if (op == "Add" || op == "Sum") return fuse_add(id);
    if (op == "Concat") return fuse_concat(id);
    if (op == "AveragePool" || op == "GlobalAveragePool") return fuse_average(id);
    if (op == "QuantizeLinear") return fuse_requantize(id);
    return fuse_movement(id) || fuse_table(id);
  }

  // Uses of what `r` (or, without it, the node itself) gave become uses of what make(name) gives,
  // where `name` is the node's: it is still the same layer. Those nodes go before, so that it is
  // free.
  template <typename Make>
  bool replace(NodeId id, const std::optional<Requantization>& r, const Make& make) {
    const std::string name = graph_.node(id).name;
    const ValueId old = graph_.node(r ? r->quantize : id).outputs[0];
    const ValueId between = graph_.add_input(graph_.unique_name(name + ".between"), b_.type(old));
    bypass(graph_, r ? r->quantize : id, between);
    if (r && r->activation.valid()) graph_.erase_node(r->activation);
    if (r) graph_.erase_node(id);
    const ValueId y = make(name);
    graph_.replace_uses(between, y);
    graph_.erase_value(between);
    return true;
  }

  bool replace_by(NodeId id, const std::optional<Requantization>& r, std::string_view op,
                  const std::vector<ValueId>& inputs, const Attributes& attributes) {
    return replace(id, r,
                   [&](const std::string& name) { return b_.add(op, inputs, attributes, name); });
  }

  // Nothing if the bias is not known or sums may be too large.
  std::optional<ConvNumbers> numbers_of(const Steps& x, const WeightSteps& w, ValueId real_bias,
                                        const std::optional<Requantization>& r) {
    const auto bias = bias_behind(graph_, real_bias, x.scale, w.scales, context_);
    if (!bias) return std::nullopt;
    ConvNumbers numbers{.bias = *bias, .multiplier = {}};
    for (const float scale : w.scales) {
      const float own = x.scale * scale;
      numbers.multiplier.push_back(r ? own / r->y.scale : own);
    }
    const auto depth = static_cast<int64_t>(w.values.size() / w.scales.size());
    if (!ops::sums_fit(w.values, depth, numbers.bias, numbers.multiplier, x.zero)) {
      return std::nullopt;
    }
    return numbers;
  }

  ValueId add_conv(const std::string& name, ValueId data, const WeightSteps& w, const Shape& shape,
                   const ConvNumbers& numbers, Attributes attributes) {
    const Shape per_channel{shape[0]};
    const std::vector<ValueId> inputs = {
        data, constant_of<int8_t>(b_, name, "w", shape, w.values),
        constant_of<int32_t>(b_, name, "bias", per_channel, numbers.bias),
        constant_of<float>(b_, name, "multiplier", per_channel, numbers.multiplier)};
    return b_.add("QuantizedConv", inputs, std::move(attributes), name);
  }

  bool fuse_conv(NodeId id) {
    const NodeView node(graph_, id);
    if (node.input_shape(0).rank() != 4) return false;
    const std::optional<Steps> x = bytes_behind(graph_, node.input(0));
    if (!x) return false;
    const auto w = weights_behind(graph_, node.input(1), /*axis=*/0, context_);
    if (!w) return false;
    const auto r = requantization_after(graph_, id);
    const auto numbers = numbers_of(*x, *w, node.has_input(2) ? node.input(2) : kNoValue, r);
    if (!numbers) return false;
    Attributes attributes = node.node().attributes;
    attributes["x_zero"] = x->zero;
    if (r) give_range(attributes, *r);
    // A copy: nodes that are added move those that are there.
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
    const Shape shape = node.input_shape(1);
    return replace(id, r, [&](const std::string& name) {
      return add_conv(name, x->value, *w, shape, *numbers, attributes);
    });
  }

  // A product with a constant matrix is a convolution of one position.
  bool fuse_product(NodeId id) {
    const NodeView node(graph_, id);
    const bool gemm = node.op() == "Gemm";
    if (gemm && (node.attr_float("alpha", 1) != 1 || node.attr_int("transA", 0) != 0 ||
                 (node.has_input(2) && node.attr_float("beta", 1) != 1))) {
      return false;
    }
    const std::optional<Steps> x = bytes_behind(graph_, node.input(0));
    if (!x || node.input_shape(0).rank() < 2 || node.input_shape(1).rank() != 2) return false;
    const int64_t axis = gemm && node.attr_int("transB", 0) != 0 ? 0 : 1;
    const auto w = weights_behind(graph_, node.input(1), axis, context_);
    if (!w) return false;
    const auto r = requantization_after(graph_, id);
    const int64_t depth = node.input_shape(1)[1 - axis];
    const int64_t columns = node.input_shape(1)[axis];
    // A copy: nodes that are added move those that are there.
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
    const Shape result = node.output_shape(0);
    const int64_t rows = result.num_elements() / columns;
    const auto numbers =
        numbers_of(*x, *w, gemm && node.has_input(2) ? node.input(2) : kNoValue, r);
    if (!numbers) return false;
    Attributes attributes = {{"x_zero", x->zero}};
    if (r) give_range(attributes, *r);
    return replace(id, r, [&](const std::string& name) {
      const ValueId data = reshaped(name, x->value, {rows, depth, 1, 1});
      const Shape shape{columns, depth, 1, 1};
      return reshaped(name, add_conv(name, data, *w, shape, *numbers, attributes), result);
    });
  }

  ValueId reshaped(const std::string& name, ValueId value, const Shape& shape) {
    const ValueId dims = constant_of<int64_t>(b_, name, "shape", {shape.rank()}, shape.dims());
    return b_.add("Reshape", {value, dims});
  }

  bool fuse_add(NodeId id) {
    const NodeView node(graph_, id);
    if (node.num_inputs() != 2 || node.input_type(0) != node.input_type(1)) return false;
    const auto left = bytes_behind(graph_, node.input(0));
    const auto right = bytes_behind(graph_, node.input(1));
    const auto r = requantization_after(graph_, id);
    if (!left || !right || !r) return false;
    Attributes attributes = {{"a_ratio", left->scale / r->y.scale},
                             {"a_zero", left->zero},
                             {"b_ratio", right->scale / r->y.scale},
                             {"b_zero", right->zero}};
    give_range(attributes, *r);
    return replace_by(id, r, "QuantizedAdd", {left->value, right->value}, attributes);
  }

  bool fuse_concat(NodeId id) {
    const NodeView node(graph_, id);
    const auto r = requantization_after(graph_, id);
    if (!r || r->activation.valid()) return false;
    std::vector<ValueId> parts;
    std::vector<int64_t> zeros;
    std::vector<float> ratios;
    for (size_t i = 0; i < node.num_inputs(); ++i) {
      const auto part = bytes_behind(graph_, node.input(i));
      if (!part) return false;
      parts.push_back(part->value);
      zeros.push_back(part->zero);
      ratios.push_back(part->scale / r->y.scale);
    }
    return replace_by(id, r, "QuantizedConcat", parts,
                      {{"axis", node.attr_int("axis", 0)},
                       {"ratios", ratios},
                       {"y_zero", r->y.zero},
                       {"zeros", zeros}});
  }

  bool fuse_average(NodeId id) {
    const NodeView node(graph_, id);
    const auto x = bytes_behind(graph_, node.input(0));
    const auto r = requantization_after(graph_, id);
    if (!x || !r || node.input_shape(0).rank() != 4) return false;
    Attributes attributes = graph_.node(id).attributes;
    if (node.op() == "GlobalAveragePool") {
      attributes["kernel_shape"] =
          std::vector<int64_t>{node.input_shape(0)[2], node.input_shape(0)[3]};
    }
    attributes["x_zero"] = x->zero;
    attributes["ratio"] = x->scale / r->y.scale;
    give_range(attributes, *r);
    return replace_by(id, r, "QuantizedAveragePool", {x->value}, attributes);
  }

  // One element decides one element: all 256 answers are worked out here.
  template <typename Function>
  bool replace_by_table(NodeId id, const std::optional<Requantization>& r, const Steps& x,
                        const Steps& y, const Function& function) {
    std::array<uint8_t, 256> table{};
    for (int64_t i = 0; i < 256; ++i) {
      const float real = static_cast<float>(i - x.zero) * x.scale;
      const auto steps = static_cast<float>(function(double{real})) / y.scale;
      table[static_cast<size_t>(i)] = ops::to_byte(steps, {.zero = y.zero});
    }
    return replace(id, r, [&](const std::string& name) {
      const ValueId values = constant_of<uint8_t>(b_, name, "table", {256}, table);
      return b_.add("QuantizedTable", {x.value, values}, {}, name);
    });
  }

  bool fuse_requantize(NodeId id) {
    const NodeView node(graph_, id);
    const auto x = bytes_behind(graph_, node.input(0));
    const auto y = quantized_by(graph_, id);
    if (!x || !y || y->dtype != DType::kU8) return false;
    if (!x->same_steps(*y)) {
      return replace_by_table(id, std::nullopt, *x, *y, [](double v) { return v; });
    }
    bypass(graph_, id, x->value);
    return true;
  }

  bool fuse_table(NodeId id) {
    const NodeView node(graph_, id);
    if (node.num_inputs() == 0) return false;
    const ops::ActivationSpec activation = ops::activation_from(node);
    if (activation.op.empty() || node.input_type(0).dtype != DType::kF32) return false;
    const auto x = bytes_behind(graph_, node.input(0));
    const auto r = requantization_after(graph_, id);
    if (!x || !r || r->activation.valid()) return false;
    return replace_by_table(id, r, *x, r->y, activation);
  }

  // DequantizeLinear goes behind what only moves elements (or keeps the largest).
  bool fuse_movement(NodeId id) {
    const NodeView node(graph_, id);
    const ops::Movement movement = ops::movement_of(node);
    if (movement != ops::Movement::kView && movement != ops::Movement::kMoved) return false;
    if (node.num_outputs() != 1) return false;
    // Except for pools, float kernels are faster than ours for bytes, so only where bytes are asked
    // for.
    const bool between =
        movement == ops::Movement::kMoved && ops::op_of(node).kind != ops::OpKind::kPooling;
    const auto x = bytes_behind(graph_, node.input(0));
    if (!x) return false;
    if (between) {
      const auto r = requantization_after(graph_, id);
      if (!r || r->activation.valid()) return false;
    }
    const NodeView dequantize(graph_, graph_.value(node.input(0)).producer);
    std::vector<ValueId> real(dequantize.node().inputs);
    std::vector<ValueId> inputs = node.node().inputs;
    inputs[0] = x->value;
    const Attributes attributes = node.node().attributes;
    const std::string op = node.op();
    return replace(id, std::nullopt, [&](const std::string& name) {
      real[0] = b_.add(op, inputs, attributes, name);
      return b_.add("DequantizeLinear", real, {}, graph_.unique_name(name + ".real"));
    });
  }

  Graph& graph_;
  const PassContext& context_;
  Builder b_;
};

}  // namespace

bool fuse_quantized(Graph& graph, const PassContext& context) {
  if (!context.fast_bytes) return false;
  return Fuser(graph, context).run();
}

}  // namespace trainyard::passes
