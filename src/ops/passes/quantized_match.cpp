#include "ops/passes/quantized_match.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/math/activation.h"
#include "ops/passes/edit.h"

namespace trainyard::passes {
namespace {

bool is_eight_bits(DType dtype) {
  return dtype == DType::kU8 || dtype == DType::kI8;
}

// Scale and zero point at inputs 1 and 2; one number each.
bool read_steps(const NodeView& node, Steps& steps) {
  const Tensor* scale = node.input_constant(1);
  if (scale == nullptr || scale->num_elements() != 1 || scale->dtype() != DType::kF32) return false;
  steps.scale = scale->values<float>()[0];
  if (!std::isfinite(steps.scale) || steps.scale <= 0) return false;
  if (!node.has_input(2)) return true;
  const Tensor* zero = node.input_constant(2);
  if (zero == nullptr || zero->num_elements() != 1) return false;
  steps.zero = element_as_int(*zero, 0);
  return true;
}

// The only user of a value that is not an output.
NodeId sole_consumer(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.consumers.size() != 1 || graph.is_output(id)) return {};
  return value.consumers[0];
}

int64_t nearest_step(float real, const Steps& steps) {
  const float kept = std::fmin(std::fmax(std::nearbyint(real / steps.scale), -1e6F), 1e6F);
  return std::clamp<int64_t>(static_cast<int64_t>(kept) + steps.zero, 0, 255);
}

// Rounding and clamping keep order, so a range of reals is a range of steps.
bool read_range(const NodeView& node, Requantization& r) {
  const ops::ActivationSpec activation = ops::activation_from(node);
  if (activation.op == "Relu") {
    r.low = std::max<int64_t>(0, r.y.zero);
    return true;
  }
  if (activation.op != "Clip" || !(activation.alpha <= activation.beta)) return false;
  r.low = nearest_step(activation.alpha, r.y);
  r.high = nearest_step(activation.beta, r.y);
  return true;
}

std::vector<int8_t> channels_first(const Tensor& tensor, int64_t axis, int64_t shift) {
  const Shape& shape = tensor.shape();
  const int64_t channels = shape[axis];
  const int64_t inner = shape.num_elements(axis + 1, shape.rank());
  const int64_t outer = shape.num_elements(0, axis);
  const auto* from = static_cast<const uint8_t*>(tensor.data());
  std::vector<int8_t> values(static_cast<size_t>(channels * outer * inner));
  int8_t* to = values.data();
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t o = 0; o < outer; ++o) {
      const uint8_t* run = from + (o * channels + c) * inner;
      // Modulo 256, so that it is right for either type.
      for (int64_t i = 0; i < inner; ++i) *to++ = static_cast<int8_t>(run[i] - shift);
    }
  }
  return values;
}

// Zero points of weights: 0 for i8, 128 for u8, which is the same shifted.
bool weight_zeros_fit(const NodeView& dequantize, int64_t expected) {
  if (!dequantize.has_input(2)) return expected == 0;
  const Tensor* zeros = dequantize.input_constant(2);
  if (zeros == nullptr) return false;
  for (int64_t i = 0; i < zeros->num_elements(); ++i) {
    if (element_as_int(*zeros, i) != expected) return false;
  }
  return true;
}

// The integers behind a bias, if its steps are those that sums have.
std::optional<std::vector<int32_t>> stored_bias(const Graph& graph, ValueId real, float x_scale,
                                                std::span<const float> scales) {
  constexpr float kSame = 1e-6F;  // quantizers multiply the two scales in one precision or another
  const NodeId producer = graph.value(real).producer;
  if (!producer.valid()) return std::nullopt;
  const NodeView node(graph, producer);
  if (node.op() != "DequantizeLinear" || node.input_type(0).dtype != DType::kI32) {
    return std::nullopt;
  }
  const Tensor* values = node.input_constant(0);
  const Tensor* given = node.input_constant(1);
  const auto count = static_cast<int64_t>(scales.size());
  if (values == nullptr || given == nullptr || given->dtype() != DType::kF32 ||
      values->num_elements() != count || node.has_input(2)) {
    return std::nullopt;
  }
  if (given->num_elements() != 1 && given->num_elements() != count) return std::nullopt;
  for (size_t c = 0; c < scales.size(); ++c) {
    const float scale = given->values<float>()[given->num_elements() == 1 ? 0 : c];
    const float expected = x_scale * scales[c];
    if (!(std::fabs(scale - expected) <= kSame * expected)) return std::nullopt;
  }
  const std::span<const int32_t> integers = values->values<int32_t>();
  return std::vector<int32_t>(integers.begin(), integers.end());
}

}  // namespace

std::optional<Steps> dequantized_from(const Graph& graph, ValueId real) {
  const NodeId producer = graph.value(real).producer;
  if (!producer.valid()) return std::nullopt;
  const NodeView node(graph, producer);
  if (node.op() != "DequantizeLinear" || node.attr_int("block_size", 0) != 0) return std::nullopt;
  if (!is_eight_bits(node.input_type(0).dtype) || node.output_type(0).dtype != DType::kF32) {
    return std::nullopt;
  }
  Steps steps{.value = node.input(0), .dtype = node.input_type(0).dtype};
  if (!read_steps(node, steps)) return std::nullopt;
  return steps;
}

std::optional<Steps> quantized_by(const Graph& graph, NodeId id) {
  const NodeView node(graph, id);
  if (node.op() != "QuantizeLinear" || node.attr_int("block_size", 0) != 0) return std::nullopt;
  if (!is_eight_bits(node.output_type(0).dtype) || node.input_type(0).dtype != DType::kF32) {
    return std::nullopt;
  }
  Steps steps{.value = node.output(0), .dtype = node.output_type(0).dtype};
  if (!read_steps(node, steps)) return std::nullopt;
  return steps;
}

std::optional<Steps> bytes_behind(const Graph& graph, ValueId real) {
  std::optional<Steps> steps = dequantized_from(graph, real);
  if (!steps || steps->dtype != DType::kU8) return std::nullopt;
  // Weights and other constants are somebody else's.
  if (graph.value(steps->value).constant != nullptr) return std::nullopt;
  return steps;
}

std::optional<Requantization> requantization_after(const Graph& graph, NodeId id) {
  NodeId next = sole_consumer(graph, graph.node(id).outputs[0]);
  if (!next.valid()) return std::nullopt;
  Requantization r;
  if (graph.node(next).op != "QuantizeLinear") {
    r.activation = next;
    next = sole_consumer(graph, graph.node(next).outputs[0]);
    if (!next.valid()) return std::nullopt;
  }
  const std::optional<Steps> y = quantized_by(graph, next);
  if (!y || y->dtype != DType::kU8) return std::nullopt;
  r.quantize = next;
  r.y = *y;
  if (r.activation.valid() && !read_range({graph, r.activation}, r)) return std::nullopt;
  return r;
}

const Tensor* known_value(Graph& graph, ValueId id, const PassContext& context) {
  if (!id.valid()) return nullptr;
  if (const Tensor* constant = graph.value(id).constant.get()) return constant;
  const NodeId producer = graph.value(id).producer;
  if (!producer.valid() || !context.evaluate) return nullptr;
  const std::vector<ValueId> inputs = graph.node(producer).inputs;
  for (const ValueId input : inputs) {
    if (input.valid() && known_value(graph, input, context) == nullptr) return nullptr;
  }
  std::vector<Tensor> results = context.evaluate(graph, producer);
  const std::vector<ValueId> outputs = graph.node(producer).outputs;
  for (size_t i = 0; i < std::min(results.size(), outputs.size()); ++i) {
    if (!outputs[i].valid()) continue;
    graph.mutable_value(outputs[i]).constant =
        std::make_shared<const Tensor>(std::move(results[i]));
  }
  return graph.value(id).constant.get();
}

std::optional<WeightSteps> weights_behind(Graph& graph, ValueId real, int64_t axis,
                                          const PassContext& context) {
  const NodeId producer = graph.value(real).producer;
  if (!producer.valid()) return std::nullopt;
  const NodeView node(graph, producer);
  if (node.op() != "DequantizeLinear" || node.attr_int("block_size", 0) != 0) return std::nullopt;
  const DType dtype = node.input_type(0).dtype;
  const Tensor* scales = node.input_constant(1);
  if (!is_eight_bits(dtype) || scales == nullptr || scales->dtype() != DType::kF32) {
    return std::nullopt;
  }
  const int64_t shift = dtype == DType::kU8 ? 128 : 0;
  const Shape& shape = node.input_shape(0);
  const bool per_channel = scales->num_elements() > 1;
  if (per_channel && normalize_axis(node.attr_int("axis", 1), shape.rank(), node.op()) != axis) {
    return std::nullopt;
  }
  if (!weight_zeros_fit(node, shift)) return std::nullopt;
  const Tensor* values = known_value(graph, node.input(0), context);
  if (values == nullptr) return std::nullopt;
  WeightSteps weights{.values = channels_first(*values, axis, shift), .scales = {}};
  for (int64_t c = 0; c < shape[axis]; ++c) {
    weights.scales.push_back(scales->values<float>()[per_channel ? static_cast<size_t>(c) : 0]);
  }
  return weights;
}

std::optional<std::vector<int32_t>> bias_behind(Graph& graph, ValueId real, float x_scale,
                                                std::span<const float> scales,
                                                const PassContext& context) {
  std::vector<int32_t> bias(scales.size(), 0);
  if (!real.valid()) return bias;
  if (auto stored = stored_bias(graph, real, x_scale, scales)) return stored;
  const Tensor* reals = known_value(graph, real, context);
  if (reals == nullptr || reals->dtype() != DType::kF32) return std::nullopt;
  const int64_t count = reals->num_elements();
  if (count != 1 && count != static_cast<int64_t>(scales.size())) return std::nullopt;
  for (size_t c = 0; c < bias.size(); ++c) {
    const double scale = double{x_scale * scales[c]};
    const double steps =
        std::nearbyint(element_as_double(*reals, count == 1 ? 0 : static_cast<int64_t>(c)) / scale);
    if (!(std::fabs(steps) <= double{std::numeric_limits<int32_t>::max()})) return std::nullopt;
    bias[c] = static_cast<int32_t>(steps);
  }
  return bias;
}

}  // namespace trainyard::passes
