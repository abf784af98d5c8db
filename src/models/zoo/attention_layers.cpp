// The layers of Net that transformers and networks with gates are made of.
#include <numeric>

#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

// He's rule with this fan is the deviation of 0.02 that BERT, GPT-2 and ViT start from.
constexpr int64_t kTableFan = 5000;

}  // namespace

ValueId Net::tokens(const ModelOptions& options) {
  return builder_.input("tokens", {DType::kI64, {options.batch, options.length}});
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
    return reshape(x, name + suffix, {-1, spec.length, width});
  };
  Attributes attributes = {{"q_num_heads", spec.heads}, {"kv_num_heads", spec.heads}};
  if (spec.causal) attributes["is_causal"] = int64_t{1};
  const ValueId y = builder_.add("Attention", {rows(q, ".q"), rows(k, ".k"), rows(v, ".v")},
                                 std::move(attributes), name);
  return reshape(y, name + ".rows", {-1, width});
}

std::vector<ValueId> Net::three_parts(ValueId x, const std::string& name) {
  const int64_t width = channels(x) / 3;
  const std::vector<int64_t> sizes(3, width);
  return builder_.add_multi("Split", {x, builder_.constant_ints(name + ".sizes", sizes)}, 3,
                            {{"axis", int64_t{1}}}, name);
}

ValueId Net::linear_by_table(ValueId x, ValueId table, const std::string& name) {
  return builder_.add("Gemm", {x, table}, {{"transB", int64_t{1}}}, name);
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

ValueId Net::pad_rows(ValueId x, const std::string& name, int64_t before, int64_t after) {
  const std::vector<int64_t> amounts = {0, before, 0, 0, after, 0};
  return builder_.add("Pad", {x, builder_.constant_ints(name + ".pads", amounts)}, {}, name);
}

}  // namespace trainyard::models
