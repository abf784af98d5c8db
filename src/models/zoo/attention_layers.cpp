// The layers of Net that transformers and networks with gates are made of.
#include <cmath>
#include <numeric>

#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

// He's rule with this fan is the deviation of 0.02 that BERT, GPT-2 and ViT start from.
constexpr int64_t kTableFan = 5000;

// Sines of Su et al. 2021: the angles of the slowest pair take so many rows for one radian.
constexpr double kRotaryBase = 10000;

}  // namespace

ValueId Net::linear_weight(ValueId x, const std::string& name, int64_t out) {
  const int64_t in = channels(x);
  return builder_.parameter(
      name + ".weight", {out, in},
      style_.small_linear ? init_he_normal(kTableFan) : init_xavier_uniform(in, out));
}

ValueId Net::linear(ValueId x, const std::string& name, int64_t out) {
  const ValueId weight = linear_weight(x, name, out);
  const ValueId bias = builder_.parameter(name + ".bias", {out}, init_constant(0));
  return builder_.add("Gemm", {x, weight, bias}, {{"transB", int64_t{1}}}, name);
}

ValueId Net::linear_no_bias(ValueId x, const std::string& name, int64_t out) {
  return builder_.add("Gemm", {x, linear_weight(x, name, out)}, {{"transB", int64_t{1}}}, name);
}

ValueId Net::residual_linear(ValueId x, const std::string& name, int64_t out, int64_t layers) {
  const ValueId weight = builder_.parameter(name + ".weight", {out, channels(x)},
                                            init_he_normal(2 * layers * kTableFan));
  const ValueId bias = builder_.parameter(name + ".bias", {out}, init_constant(0));
  return builder_.add("Gemm", {x, weight, bias}, {{"transB", int64_t{1}}}, name);
}

ValueId Net::tokens(const ModelOptions& options) {
  return builder_.input("tokens", {DType::kI64, {options.batch, options.length}});
}

ValueId Net::row(const ModelOptions& options) {
  return builder_.input("row", {DType::kF32, {options.batch, options.rows}});
}

ValueId Net::layer_norm(ValueId x, const std::string& name) {
  const Shape shape{builder_.shape(x).dim(-1)};
  const ValueId scale = builder_.parameter(name + ".weight", shape, init_constant(1));
  const ValueId shift = builder_.parameter(name + ".bias", shape, init_constant(0));
  return builder_.add("LayerNormalization", {x, scale, shift},
                      {{"axis", int64_t{-1}}, {"epsilon", style_.norm_epsilon}}, name);
}

ValueId Net::table(const std::string& name, Shape shape) {
  return builder_.parameter(name, std::move(shape), init_he_normal(kTableFan));
}

ValueId Net::layer_scale(ValueId x, const std::string& name, float start) {
  const ValueId factors =
      builder_.parameter(name, {channels(x), 1, 1}, init_constant(double{start}));
  return builder_.add("Mul", {x, factors}, {}, name + ".mul");
}

// By index, as other rows of tables are found: so they count as parameters.
ValueId Net::first_rows(ValueId table, const std::string& name, int64_t count) {
  std::vector<int64_t> indices(static_cast<size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  return builder_.add("Gather", {table, builder_.constant_ints(name + ".indices", indices)},
                      {{"axis", builder_.shape(table).rank() - 2}}, name);
}

ValueId Net::embed(ValueId table, ValueId tokens, const std::string& name) {
  return builder_.add("Gather", {table, tokens}, {{"axis", int64_t{0}}}, name);
}

ValueId Net::attention(ValueId q, ValueId k, ValueId v, const std::string& name,
                       const AttentionSpec& spec) {
  const int64_t width = channels(q);
  const auto rows = [&](ValueId x, const char* suffix) {
    return reshape(x, name + suffix, {-1, spec.length, channels(x)});
  };
  const int64_t kv_heads = spec.kv_heads == 0 ? spec.heads : spec.kv_heads;
  Attributes attributes = {{"q_num_heads", spec.heads}, {"kv_num_heads", kv_heads}};
  if (spec.causal) attributes["is_causal"] = int64_t{1};
  std::vector<ValueId> inputs = {rows(q, ".q"), rows(k, ".k"), rows(v, ".v")};
  if (spec.mask.valid()) inputs.push_back(spec.mask);
  const ValueId y = builder_.add("Attention", std::move(inputs), std::move(attributes), name);
  return reshape(y, name + ".rows", {-1, width});
}

Places Net::places(ValueId tokens, int64_t end_of_text) {
  constexpr int64_t kOnnxInt64 = 7;  // TensorProto.INT64
  const auto number = [&](const char* name, int64_t value) {
    return builder_.constant(name, Tensor::scalar(value));
  };
  const auto whole = [&](ValueId flags, const char* name) {
    return builder_.add("Cast", {flags}, {{"to", kOnnxInt64}}, name);
  };
  std::vector<int64_t> indices(static_cast<size_t>(extent(tokens, 1)));
  std::iota(indices.begin(), indices.end(), 0);
  const ValueId counted = builder_.constant_ints("places.indices", indices);
  if (end_of_text < 0) {
    const ValueId zeros =
        builder_.add("Mul", {tokens, number("places.zero", 0)}, {}, "places.none");
    return {builder_.add("Add", {zeros, counted}, {}, "places"), kNoValue};
  }
  const ValueId opens =
      builder_.add("Equal", {tokens, number("places.end", end_of_text)}, {}, "places.opens");
  const ValueId document = builder_.add(
      "CumSum", {whole(opens, "places.one"), number("places.axis", 1)}, {}, "places.document");
  const auto stretched = [&](int64_t axis, const char* name) {
    const std::vector<int64_t> axes = {axis};
    return builder_.add("Unsqueeze",
                        {document, builder_.constant_ints(std::string(name) + ".axes", axes)}, {},
                        name);
  };
  const ValueId own = stretched(2, "places.own");
  const ValueId other = stretched(1, "places.other");
  // A document begins behind as many tokens as belong to earlier ones.
  const ValueId earlier =
      whole(builder_.add("Less", {other, own}, {}, "places.earlier"), "places.before");
  const std::vector<int64_t> last = {2};
  const ValueId start =
      builder_.add("ReduceSum", {earlier, builder_.constant_ints("places.last", last)},
                   {{"keepdims", int64_t{0}}}, "places.start");
  const ValueId same = builder_.add("Equal", {own, other}, {}, "places.same");
  const std::vector<int64_t> heads = {1};
  return {builder_.add("Sub", {counted, start}, {}, "places"),
          builder_.add("Unsqueeze", {same, builder_.constant_ints("places.heads", heads)}, {},
                       "places.mask")};
}

ValueId Net::rms_norm(ValueId x, const std::string& name) {
  const ValueId scale =
      builder_.parameter(name + ".weight", {builder_.shape(x).dim(-1)}, init_constant(1));
  return builder_.add("RMSNormalization", {x, scale},
                      {{"axis", int64_t{-1}}, {"epsilon", style_.norm_epsilon}}, name);
}

RotaryTables Net::rotary_tables(int64_t length, int64_t depth, double base) {
  if (base == 0) base = kRotaryBase;
  const int64_t pairs = depth / 2;
  Tensor cosines(DType::kF32, {length, pairs});
  Tensor sines(DType::kF32, {length, pairs});
  for (int64_t row = 0; row < length; ++row) {
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const double part = static_cast<double>(pair) / static_cast<double>(pairs);
      const double angle = static_cast<double>(row) / std::pow(base, part);
      const auto at = static_cast<size_t>(row * pairs + pair);
      cosines.values<float>()[at] = static_cast<float>(std::cos(angle));
      sines.values<float>()[at] = static_cast<float>(std::sin(angle));
    }
  }
  return {builder_.constant("rotary.cos", std::move(cosines)),
          builder_.constant("rotary.sin", std::move(sines))};
}

ValueId Net::rotate(ValueId x, const std::string& name, int64_t heads, const RotaryTables& tables,
                    ValueId positions) {
  const int64_t width = channels(x);
  const ValueId rows = reshape(x, name + ".in", {-1, extent(positions, 1), width});
  const ValueId y = builder_.add("RotaryEmbedding", {rows, tables.cosines, tables.sines, positions},
                                 {{"num_heads", heads}}, name);
  return reshape(y, name + ".out", {-1, width});
}

std::vector<ValueId> Net::three_parts(ValueId x, const std::string& name) {
  const int64_t width = channels(x) / 3;
  const std::vector<int64_t> sizes(3, width);
  return builder_.add_multi("Split", {x, builder_.constant_ints(name + ".sizes", sizes)}, 3,
                            {{"axis", int64_t{1}}}, name);
}

ValueId Net::linear_by_table(ValueId x, ValueId table, const std::string& name,
                             const std::string& bias) {
  std::vector<ValueId> inputs = {x, table};
  if (!bias.empty()) {
    inputs.push_back(builder_.parameter(bias, {extent(table, 0)}, init_constant(0)));
  }
  return builder_.add("Gemm", std::move(inputs), {{"transB", int64_t{1}}}, name);
}

ValueId Net::squeeze_excite(ValueId x, const std::string& name, int64_t squeezed,
                            std::string_view activation, std::string_view gate) {
  ValueId y = global_average(x, name + ".avgpool");
  y = conv(y, name + ".fc1", {.out = squeezed});
  y = activate(y, activation, name + ".activation");
  y = conv(y, name + ".fc2", {.out = channels(x)});
  // torch's form of it; ONNX's alone has a slope of 0.2.
  Attributes attributes;
  if (gate == "HardSigmoid") attributes = {{"alpha", 1.0F / 6.0F}, {"beta", 0.5F}};
  y = builder_.add(gate, {y}, std::move(attributes), name + ".scale_activation");
  return multiply(y, x, name + ".mul");
}

ValueId Net::gelu_by_tanh(ValueId x, const std::string& name) {
  return builder_.add("Gelu", {x}, {{"approximate", std::string("tanh")}}, name);
}

ValueId Net::multiply(ValueId a, ValueId b, const std::string& name) {
  return builder_.add("Mul", {a, b}, {}, name);
}

ValueId Net::scale(ValueId x, const std::string& name, float factor) {
  return multiply(x, builder_.constant_scalar(name + ".factor", factor), name);
}

ValueId Net::pad_rows(ValueId x, const std::string& name, int64_t before, int64_t after) {
  const std::vector<int64_t> amounts = {0, before, 0, 0, after, 0};
  return builder_.add("Pad", {x, builder_.constant_ints(name + ".pads", amounts)}, {}, name);
}

}  // namespace trainyard::models
