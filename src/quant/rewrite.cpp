#include "quant/rewrite.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/builder.h"
#include "ops/passes/edit.h"

namespace trainyard::quant {
namespace {

// The least scale of weights with which the bias fits 32 bits.
std::vector<double> least_scales(const Tensor& bias, double input_scale, bool per_channel) {
  std::vector<double> least;
  for (int64_t i = 0; i < bias.num_elements(); ++i) {
    least.push_back(std::fabs(element_as_double(bias, i)) / input_scale / kMostBiasSteps);
  }
  if (!per_channel) least = {*std::max_element(least.begin(), least.end())};
  return least;
}

// One number stays a scalar.
Tensor scales_tensor(std::span<const float> scales) {
  return Tensor::of<float>(
      scales.size() == 1 ? Shape{} : Shape{static_cast<int64_t>(scales.size())}, scales);
}

class Rewriter {
 public:
  Rewriter(Graph graph, const Plan& plan, const ValueSteps& steps, const WeightScheme& scheme,
           const Parts& parts)
      : graph_(std::move(graph)),
        builder_(graph_),
        plan_(plan),
        steps_(steps),
        scheme_(scheme),
        parts_(parts) {}

  Graph run() {
    for (const NodeId id : plan_.layers) {
      if (plan_.is_int8(id)) round_layer(id);
    }
    if (parts_.activations) {
      for (const ValueId id : plan_.values) round_value(id);
    }
    passes::drop_unused_initializers(graph_);
    graph_.sort();
    return std::move(graph_);
  }

 private:
  void round_layer(NodeId id) {
    const NodeView layer(graph_, id);
    // A copy: nodes that are added move those that are there.
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
    const std::string name = layer.name();
    const int64_t axis = output_axis(layer);
    const auto found = steps_.find(layer.input(0));
    std::optional<Steps> input;
    if (found != steps_.end()) input = found->second;
    QuantizedLayer rounded = quantize_layer(layer, input, scheme_);
    if (parts_.biases && !rounded.bias.empty()) {
      const ValueId bias = add_dequantize(name + ".b", std::move(rounded.bias), rounded.bias_scales,
                                          0, /*with_zero=*/false);
      graph_.set_node_input(id, 2, bias);
    }
    if (!parts_.weights) return;
    if (parts_.activations && !parts_.biases) {
      // Kernels on integers round the bias too; in float it stays as it is.
      graph_.set_node_input(id, 1,
                            passes::add_constant(graph_, name + ".w", rounded.weights.reals(axis)));
      return;
    }
    const ValueId weights = add_dequantize(name + ".w", std::move(rounded.weights.steps),
                                           rounded.weights.scales, axis, /*with_zero=*/true);
    graph_.set_node_input(id, 1, weights);
  }

  // Names are short: files of small networks are mostly names.
  ValueId add_dequantize(const std::string& base, Tensor steps, std::span<const float> scales,
                         int64_t axis, bool with_zero) {
    const DType type = steps.dtype();
    std::vector<ValueId> inputs = {passes::add_constant(graph_, base, std::move(steps)),
                                   passes::add_constant(graph_, base + "s", scales_tensor(scales))};
    if (with_zero) {
      inputs.push_back(zero_points(Tensor::zeros({type, graph_.value(inputs[1]).type.shape})));
    }
    Attributes attributes;
    if (scales.size() > 1) attributes["axis"] = axis;
    return builder_.add("DequantizeLinear", std::move(inputs), std::move(attributes),
                        graph_.unique_name(base + "d"));
  }

  // One initializer for all that are alike.
  ValueId zero_points(Tensor zeros) {
    const int64_t value = element_as_int(zeros, 0);
    const std::string name =
        fmt::format("{}{}z{}", zeros.dtype() == DType::kU8 ? "" : dtype_name(zeros.dtype()),
                    zeros.shape().rank() == 0 ? "" : zeros.shape().to_string(), value);
    const auto [found, fresh] = zeros_.try_emplace(name, kNoValue);
    if (fresh) found->second = passes::add_constant(graph_, name, std::move(zeros));
    return found->second;
  }

  // The value that carries `id` when the clamp before it is done by the rounding.
  ValueId without_clamp(ValueId id, const Steps& steps) {
    const NodeId producer = graph_.value(id).producer;
    if (!producer.valid() || steps.zero != 0) return id;
    const NodeView clamp(graph_, producer);
    if (clamp.op() == "Clip") {
      const Tensor* low = clamp.has_input(1) ? clamp.input_constant(1) : nullptr;
      const Tensor* high = clamp.has_input(2) ? clamp.input_constant(2) : nullptr;
      if (low == nullptr || element_as_double(*low, 0) != 0) return id;
      if (clamp.has_input(2) && high == nullptr) return id;
      // The highest step may be the upper end, up to the rounding of the scale.
      constexpr double kSlack = 1e-5;
      if (high != nullptr && steps.high() > element_as_double(*high, 0) * (1 + kSlack)) return id;
    } else if (clamp.op() != "Relu") {
      return id;
    }
    const ValueId source = clamp.input(0);
    if (graph_.value(source).consumers.size() != 1 || graph_.is_output(source)) return id;
    if (!graph_.value(source).producer.valid() || graph_.is_output(id)) return id;
    passes::bypass(graph_, producer, source);
    return source;
  }

  void round_value(ValueId planned) {
    const Steps& steps = steps_.at(planned);
    const ValueId id = without_clamp(planned, steps);
    const std::string name = graph_.value(id).name;
    const std::vector<NodeId> consumers = graph_.value(id).consumers;
    ValueId kept = id;
    if (steps.highest < std::numeric_limits<uint8_t>::max()) {
      const auto end = [&](const char* which, double value) {
        return passes::add_constant(graph_, name + which,
                                    Tensor::scalar(static_cast<float>(value)));
      };
      kept = builder_.add("Clip", {id, end("_low", steps.low()), end("_high", steps.high())}, {},
                          graph_.unique_name(name + "_clip"));
    }
    const ValueId scale = passes::add_constant(graph_, name + ".s", Tensor::scalar(steps.scale));
    const ValueId zero = zero_points(Tensor::scalar(static_cast<uint8_t>(steps.zero)));
    const ValueId in_steps =
        builder_.add("QuantizeLinear", {kept, scale, zero}, {}, graph_.unique_name(name + ".q"));
    const ValueId reals = builder_.add("DequantizeLinear", {in_steps, scale, zero}, {},
                                       graph_.unique_name(name + ".d"));
    for (const NodeId consumer : consumers) {
      const std::vector<ValueId>& inputs = graph_.node(consumer).inputs;
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i] == id) graph_.set_node_input(consumer, i, reals);
      }
    }
    if (plan_.round_outputs && graph_.is_output(id)) round_output(id, reals);
  }

  // Under the name that the output has had.
  void round_output(ValueId exact, ValueId rounded) {
    const std::string name = graph_.value(exact).name;
    std::vector<ValueId> outputs(graph_.outputs().begin(), graph_.outputs().end());
    std::replace(outputs.begin(), outputs.end(), exact, rounded);
    graph_.set_outputs(std::move(outputs));
    graph_.rename_value(exact, graph_.unique_name(name + "_exact"));
    graph_.rename_value(rounded, name);
  }

  Graph graph_;
  ops::Builder builder_;
  const Plan& plan_;
  const ValueSteps& steps_;
  const WeightScheme& scheme_;
  const Parts& parts_;
  std::map<std::string, ValueId> zeros_;
};

}  // namespace

QuantizedLayer quantize_layer(const NodeView& layer, const std::optional<Steps>& input,
                              const WeightScheme& scheme) {
  QuantizedLayer result;
  const Tensor* bias =
      layer.op() != "MatMul" && layer.has_input(2) ? layer.input_constant(2) : nullptr;
  std::vector<double> least;
  if (bias != nullptr && input)
    least = least_scales(*bias, double{input->scale}, scheme.per_channel);
  try {
    result.weights = quantize_weights(*layer.input_constant(1), output_axis(layer), scheme, least);
  } catch (const Error& error) {
    throw_error("layer '{}': {}", layer.name(), error.what());
  }
  if (bias == nullptr || !input) return result;
  for (const float scale : result.weights.scales)
    result.bias_scales.push_back(scale * input->scale);
  result.bias = quantize_bias(*bias, double{input->scale}, result.weights.scales);
  return result;
}

Graph rewrite(Graph graph, const Plan& plan, const ValueSteps& steps, const WeightScheme& scheme,
              const Parts& parts) {
  return Rewriter(std::move(graph), plan, steps, scheme, parts).run();
}

}  // namespace trainyard::quant
