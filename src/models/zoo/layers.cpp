#include "models/zoo/layers.h"

#include <algorithm>
#include <array>

namespace trainyard::models {
namespace {

// The share of the old running statistic that a training step keeps (ONNX's convention).
constexpr float kNormMomentum = 0.9F;

// Channels come in multiples of this where a width multiplier is at work.
constexpr int64_t kMultiple = 8;

std::vector<int64_t> ints(const Extent& extent) {
  return {extent.height, extent.width};
}

std::vector<int64_t> pads(const Extent& pad) {
  return {pad.height, pad.width, pad.height, pad.width};
}

Attributes conv_attributes(const ConvSpec& spec) {
  return {{"group", spec.group},
          {"kernel_shape", ints(spec.kernel)},
          {"pads", pads(spec.pad)},
          {"strides", ints(spec.stride)}};
}

Attributes pool_attributes(const PoolSpec& spec) {
  return {{"ceil_mode", int64_t{spec.ceil}},
          {"kernel_shape", ints(spec.kernel)},
          {"pads", pads(spec.pad)},
          {"strides", ints(spec.stride)}};
}

}  // namespace

ValueId Net::image(const ModelOptions& options, int64_t channels) {
  return builder_.input("image",
                        {DType::kF32, {options.batch, channels, options.image, options.image}});
}

// Glorot and Bengio's rule (both fans) or that of He et al. (one of them), as the style of the
// network says.
ValueId Net::conv_weight(ValueId x, const std::string& name, const ConvSpec& spec) {
  const int64_t positions = spec.kernel.height * spec.kernel.width;
  const int64_t in = channels(x) / spec.group;
  const int64_t fan_in = positions * in;
  const int64_t fan_out = positions * spec.out / spec.group;
  const InitRule rule = style_.fan == FanMode::kBoth
                            ? init_xavier_uniform(fan_in, fan_out)
                            : init_he_normal(style_.fan == FanMode::kIn ? fan_in : fan_out);
  return builder_.parameter(name + ".weight", {spec.out, in, spec.kernel.height, spec.kernel.width},
                            rule);
}

ValueId Net::conv(ValueId x, const std::string& name, const ConvSpec& spec) {
  const ValueId weight = conv_weight(x, name, spec);
  const ValueId bias = builder_.parameter(name + ".bias", {spec.out}, init_constant(0));
  return builder_.add("Conv", {x, weight, bias}, conv_attributes(spec), name);
}

ValueId Net::conv_no_bias(ValueId x, const std::string& name, const ConvSpec& spec) {
  return builder_.add("Conv", {x, conv_weight(x, name, spec)}, conv_attributes(spec), name);
}

ValueId Net::conv_norm(ValueId x, const std::string& conv_name, const std::string& norm_name,
                       const ConvSpec& spec) {
  return batch_norm(conv_no_bias(x, conv_name, spec), norm_name);
}

ValueId Net::conv_relu(ValueId x, const std::string& name, const ConvSpec& spec) {
  return relu(conv(x, name, spec), name + ".relu");
}

ValueId Net::batch_norm(ValueId x, const std::string& name) {
  const Shape shape{channels(x)};
  const ValueId scale = builder_.parameter(name + ".weight", shape, init_constant(1));
  const ValueId shift = builder_.parameter(name + ".bias", shape, init_constant(0));
  const ValueId mean = builder_.parameter(name + ".running_mean", shape, init_constant(0));
  const ValueId variance = builder_.parameter(name + ".running_var", shape, init_constant(1));
  return builder_.add("BatchNormalization", {x, scale, shift, mean, variance},
                      {{"epsilon", style_.norm_epsilon}, {"momentum", kNormMomentum}}, name);
}

ValueId Net::local_response_norm(ValueId x, const std::string& name, int64_t window, double k,
                                 double alpha, double beta) {
  // ONNX divides alpha by the window.
  return builder_.add("LRN", {x},
                      {{"alpha", static_cast<float>(alpha * static_cast<double>(window))},
                       {"beta", static_cast<float>(beta)},
                       {"bias", static_cast<float>(k)},
                       {"size", window}},
                      name);
}

// The bounds are shared by all layers of a network: one pair of constants instead of dozens.
ValueId Net::relu6(ValueId x, const std::string& name) {
  ValueId least = graph_.find_value("relu6.min");
  ValueId most = graph_.find_value("relu6.max");
  if (!least.valid()) {
    least = builder_.constant_scalar("relu6.min", 0.0F);
    most = builder_.constant_scalar("relu6.max", 6.0F);
  }
  return builder_.add("Clip", {x, least, most}, {}, name);
}

ValueId Net::dropout(ValueId x, const std::string& name, float ratio) {
  return builder_.add("Dropout", {x, builder_.constant_scalar(name + ".ratio", ratio)}, {}, name);
}

ValueId Net::max_pool(ValueId x, const std::string& name, const PoolSpec& spec) {
  return builder_.add("MaxPool", {x}, pool_attributes(spec), name);
}

ValueId Net::average_pool(ValueId x, const std::string& name, const PoolSpec& spec) {
  Attributes attributes = pool_attributes(spec);
  attributes["count_include_pad"] = int64_t{spec.pad_is_counted};
  return builder_.add("AveragePool", {x}, std::move(attributes), name);
}

ValueId Net::add(ValueId a, ValueId b, const std::string& name) {
  return builder_.add("Add", {a, b}, {}, name);
}

ValueId Net::concat(std::vector<ValueId> parts, const std::string& name, int64_t axis) {
  return builder_.add("Concat", std::move(parts), {{"axis", axis}}, name);
}

ValueId Net::reshape(ValueId x, const std::string& name, const std::vector<int64_t>& target) {
  return builder_.add("Reshape", {x, builder_.constant_ints(name + ".shape", target)}, {}, name);
}

ValueId Net::transpose(ValueId x, const std::string& name, std::vector<int64_t> permutation) {
  return builder_.add("Transpose", {x}, {{"perm", std::move(permutation)}}, name);
}

ValueId Net::slice(ValueId x, const std::string& name, const std::vector<SliceSpec>& ranges) {
  const auto input = [&](const char* suffix, int64_t SliceSpec::*field) {
    std::vector<int64_t> values;
    values.reserve(ranges.size());
    for (const SliceSpec& range : ranges) values.push_back(range.*field);
    return builder_.constant_ints(name + suffix, values);
  };
  const ValueId starts = input(".starts", &SliceSpec::begin);
  const ValueId ends = input(".ends", &SliceSpec::end);
  const ValueId axes = input(".axes", &SliceSpec::axis);
  const ValueId steps = input(".steps", &SliceSpec::step);
  return builder_.add("Slice", {x, starts, ends, axes, steps}, {}, name);
}

ValueId Net::pad_channels(ValueId x, const std::string& name, int64_t before, int64_t after) {
  // ONNX lists the beginnings of all axes, then their ends.
  const std::array<int64_t, 8> amounts = {0, before, 0, 0, 0, after, 0, 0};
  return builder_.add("Pad", {x, builder_.constant_ints(name + ".pads", amounts)}, {}, name);
}

// Nothing may be added afterwards: the graph is moved out.
Graph Net::finish(const std::vector<NetOutput>& outputs) {
  std::vector<ValueId> ids;
  for (const NetOutput& output : outputs) {
    graph_.rename_value(output.value, std::string(output.name));
    ids.push_back(output.value);
  }
  graph_.set_outputs(std::move(ids));
  return std::move(graph_);
}

// make_divisible of MobileNet's published code: to the nearest multiple of 8, but never below 90 %.
int64_t scaled_channels(int64_t channels, double width) {
  const double wanted = static_cast<double>(channels) * width;
  const int64_t rounded =
      std::max(kMultiple, static_cast<int64_t>(wanted + kMultiple / 2.0) / kMultiple * kMultiple);
  return static_cast<double>(rounded) < 0.9 * wanted ? rounded + kMultiple : rounded;
}

}  // namespace trainyard::models
