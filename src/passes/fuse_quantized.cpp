// fuse_quantized: operators between DequantizeLinear and QuantizeLinear compute on eight bits; what
// only moves elements moves eight bits.
#include <algorithm>
#include <array>

#include "ops/builder.h"
#include "ops/math/activation.h"
#include "ops/quantize/quantized.h"
#include "passes/edit.h"
#include "passes/quantized_match.h"

namespace trainyard::passes {
namespace {

using ops::Builder;

bool has_static_types(const NodeView& node) {
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (node.has_input(i) && !node.input_shape(i).is_static()) return false;
  }
  return node.output_shape(0).is_static() && node.output_shape(0).num_elements() > 0;
}

template <typename T>
ValueId constant_of(Builder& b, const NodeView& node, std::string_view what, const Shape& shape,
                    std::span<const T> values) {
  return b.constant(b.graph().unique_name(node.name() + "." + std::string(what)),
                    Tensor::of<T>(shape, values));
}

void give_range(Attributes& attributes, const Requantization& r) {
  attributes["y_zero"] = r.y.zero;
  attributes["low"] = r.low;
  attributes["high"] = r.high;
}

// Uses of what `r` (or, without it, the node itself) gave become uses of `y`; those nodes go.
void replace(Graph& graph, NodeId id, const std::optional<Requantization>& r, ValueId y) {
  if (!r) return bypass(graph, id, y);
  bypass(graph, r->quantize, y);
  if (r->activation.valid()) graph.erase_node(r->activation);
  graph.erase_node(id);
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

  ValueId add(const NodeView& node, std::string_view op, std::vector<ValueId> inputs,
              Attributes attributes) {
    const std::string name = graph_.unique_name(node.name() + ".int8");
    return b_.add(op, std::move(inputs), std::move(attributes), name);
  }

  // x by w with all that follows: shared by convolutions and products. `y` is invalid if the sums
  // may be too large.
  ValueId add_conv(const NodeView& node, const Steps& x, ValueId data, const WeightSteps& w,
                   const Shape& shape, ValueId real_bias, const std::optional<Requantization>& r,
                   Attributes attributes) {
    const auto bias = bias_behind(graph_, real_bias, x.scale, w.scales, context_);
    if (!bias) return kNoValue;
    std::vector<float> multiplier;
    for (const float scale : w.scales) {
      const float own = x.scale * scale;
      multiplier.push_back(r ? own / r->y.scale : own);
    }
    const int64_t depth = shape.num_elements(1, shape.rank());
    if (!ops::sums_fit(w.values, depth, *bias, multiplier, x.zero)) return kNoValue;
    attributes["x_zero"] = x.zero;
    if (r) give_range(attributes, *r);
    const Shape per_channel{shape[0]};
    const std::vector<ValueId> inputs = {
        data, constant_of<int8_t>(b_, node, "w", shape, w.values),
        constant_of<int32_t>(b_, node, "bias", per_channel, *bias),
        constant_of<float>(b_, node, "multiplier", per_channel, multiplier)};
    return add(node, "QuantizedConv", inputs, std::move(attributes));
  }

  bool fuse_conv(NodeId id) {
    const NodeView node(graph_, id);
    if (node.input_shape(0).rank() != 4) return false;
    const std::optional<Steps> x = bytes_behind(graph_, node.input(0));
    if (!x) return false;
    const auto w = weights_behind(graph_, node.input(1), /*axis=*/0, context_);
    if (!w) return false;
    const auto r = requantization_after(graph_, id);
    const ValueId y =
        add_conv(node, *x, x->value, *w, Shape(node.input_shape(1)),
                 node.has_input(2) ? node.input(2) : kNoValue, r, graph_.node(id).attributes);
    if (!y.valid()) return false;
    replace(graph_, id, r, y);
    return true;
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
    const Shape result = node.output_shape(0);
    const int64_t rows = result.num_elements() / columns;
    const ValueId data = reshaped(node, x->value, {rows, depth, 1, 1});
    const ValueId y = add_conv(node, *x, data, *w, {columns, depth, 1, 1},
                               gemm && node.has_input(2) ? node.input(2) : kNoValue, r, {});
    if (!y.valid()) return false;
    replace(graph_, id, r, reshaped({graph_, id}, y, result));
    return true;
  }

  ValueId reshaped(const NodeView& node, ValueId value, const Shape& shape) {
    const ValueId dims = constant_of<int64_t>(b_, node, "shape", {shape.rank()}, shape.dims());
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
    replace(graph_, id, r,
            add(node, "QuantizedAdd", {left->value, right->value}, std::move(attributes)));
    return true;
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
    replace(graph_, id, r,
            add(node, "QuantizedConcat", std::move(parts),
                {{"axis", node.attr_int("axis", 0)},
                 {"ratios", ratios},
                 {"y_zero", r->y.zero},
                 {"zeros", zeros}}));
    return true;
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
    replace(graph_, id, r, add(node, "QuantizedAveragePool", {x->value}, std::move(attributes)));
    return true;
  }

  // One element decides one element: all 256 answers are worked out here.
  template <typename Function>
  ValueId add_table(const NodeView& node, const Steps& x, const Steps& y,
                    const Function& function) {
    std::array<uint8_t, 256> table{};
    for (int64_t i = 0; i < 256; ++i) {
      const float real = static_cast<float>(i - x.zero) * x.scale;
      const auto steps = static_cast<float>(function(double{real})) / y.scale;
      table[static_cast<size_t>(i)] = ops::to_byte(steps, {.zero = y.zero});
    }
    const ValueId values = constant_of<uint8_t>(b_, node, "table", {256}, table);
    return add(node, "QuantizedTable", {x.value, values}, {});
  }

  bool fuse_requantize(NodeId id) {
    const NodeView node(graph_, id);
    const auto x = bytes_behind(graph_, node.input(0));
    const auto y = quantized_by(graph_, id);
    if (!x || !y || y->dtype != DType::kU8) return false;
    bypass(graph_, id,
           x->same_steps(*y) ? x->value : add_table(node, *x, *y, [](double v) { return v; }));
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
    replace(graph_, id, r, add_table(node, *x, r->y, activation));
    return true;
  }

  // DequantizeLinear goes behind what only moves elements (or keeps the largest).
  bool fuse_movement(NodeId id) {
    static constexpr std::array<std::string_view, 7> kAlways = {
        "Flatten", "GlobalMaxPool", "Identity", "MaxPool", "Reshape", "Squeeze", "Unsqueeze"};
    // Float kernels for these are faster than ours for bytes, so only where bytes are asked for.
    static constexpr std::array<std::string_view, 5> kBetween = {"DepthToSpace", "Gather", "Slice",
                                                                 "SpaceToDepth", "Transpose"};
    const NodeView node(graph_, id);
    const auto is = [&](std::string_view op) { return node.op() == op; };
    const bool between = std::any_of(kBetween.begin(), kBetween.end(), is) || nearest_resize(node);
    if (!between && std::none_of(kAlways.begin(), kAlways.end(), is)) return false;
    if (node.num_outputs() != 1) return false;
    const auto x = bytes_behind(graph_, node.input(0));
    if (!x) return false;
    if (between) {
      const auto r = requantization_after(graph_, id);
      if (!r || r->activation.valid()) return false;
    }
    const NodeView dequantize(graph_, graph_.value(node.input(0)).producer);
    std::vector<ValueId> scale(dequantize.node().inputs.begin() + 1,
                               dequantize.node().inputs.end());
    std::vector<ValueId> inputs = node.node().inputs;
    inputs[0] = x->value;
    const std::string op = node.op();
    const ValueId moved = add(node, op, std::move(inputs), Attributes(node.node().attributes));
    scale.insert(scale.begin(), moved);
    const ValueId real = b_.add("DequantizeLinear", std::move(scale), {},
                                graph_.unique_name(graph_.node(id).name + ".real"));
    bypass(graph_, id, real);
    return true;
  }

  static bool nearest_resize(const NodeView& node) {
    return node.op() == "Resize" && node.attr_text("mode", "nearest") == "nearest";
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
