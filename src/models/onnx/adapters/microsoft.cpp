// Operators of the domain com.microsoft that exporters and optimizers write, by their public
// definitions (docs/ContribOperators.md of ONNX Runtime).
#include <cmath>

#include "models/onnx/adapters/adapter.h"

namespace trainyard::onnx_io {
namespace {

ValueId helper(const ImportNode& node, Emitter& emitter, std::string_view op,
               std::vector<ValueId> inputs, Attributes attributes = {}) {
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  return emitter.add_helper(op, std::move(inputs), std::move(attributes),
                            node.name + "." + std::string(op));
}

ValueId added(const ImportNode& node, Emitter& emitter, ValueId a, ValueId b) {
  return b.valid() ? helper(node, emitter, "Add", {a, b}) : a;
}

void become(ImportNode& node, std::string op, std::vector<ValueId> inputs,
            Attributes attributes = {}) {
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
}

// `op` of what the node was, named by attributes that only fused operators have.
void activate(ImportNode& node, Emitter& emitter, const std::string& activation,
              const Floats& parameters) {
  if (activation.empty()) return;
  const std::string own = node.name + ".linear";
  const ValueId linear = emitter.add_helper(node.op, node.inputs, node.attributes, own);
  const auto parameter = [&](size_t i, float fallback) {
    return i < parameters.size() ? parameters[i] : fallback;
  };
  if (activation == "Clip") {
    become(node, "Clip",
           {linear, emitter.add_constant(own + ".min", Tensor::scalar(parameter(0, 0))),
            emitter.add_constant(own + ".max", Tensor::scalar(parameter(1, 6)))});
  } else if (activation == "HardSigmoid") {
    become(node, activation, {linear},
           {{"alpha", parameter(0, 0.2F)}, {"beta", parameter(1, 0.5F)}});
  } else if (activation == "LeakyRelu") {
    become(node, activation, {linear}, {{"alpha", parameter(0, 0.01F)}});
  } else {
    TY_REQUIRE(activation == "Relu" || activation == "Tanh" || activation == "Sigmoid",
               "activation '{}' is not one of Relu, Tanh, Sigmoid, LeakyRelu, Clip, HardSigmoid",
               activation);
    become(node, activation, {linear});
  }
}

void fused_conv(ImportNode& node, Emitter& emitter) {
  const std::string activation = take<std::string>(node, "activation").value_or("");
  const Floats parameters = take<Floats>(node, "activation_params").value_or(Floats{});
  const ValueId sum = optional_input(node, 3);
  node.op = "Conv";
  node.inputs.resize(std::min<size_t>(node.inputs.size(), 3));
  if (sum.valid()) {
    const ValueId conv =
        emitter.add_helper("Conv", node.inputs, node.attributes, node.name + ".conv");
    become(node, "Add", {conv, sum});
  }
  activate(node, emitter, activation, parameters);
}

void fused_gemm(ImportNode& node, Emitter& emitter) {
  const std::string activation = take<std::string>(node, "activation").value_or("");
  Floats parameters;
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (const auto value = take<float>(node, name)) parameters.push_back(*value);
  }
  node.op = "Gemm";
  activate(node, emitter, activation, parameters);
}

ValueId transposed(const ImportNode& node, Emitter& emitter, ValueId value) {
  Ints perm;
  for (int64_t i = 0; i < emitter.shape(value).rank(); ++i) perm.push_back(i);
  TY_REQUIRE(perm.size() >= 2, "a vector cannot be transposed");
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return helper(node, emitter, "Transpose", {value}, {{"perm", perm}});
}

void fused_matmul(ImportNode& node, Emitter& emitter) {
  TY_REQUIRE(take<int64_t>(node, "transBatchA").value_or(0) == 0 &&
                 take<int64_t>(node, "transBatchB").value_or(0) == 0,
             "transposed batches are not supported");
  const float alpha = take<float>(node, "alpha").value_or(1.0F);
  ValueId a = input(node, 0);
  ValueId b = input(node, 1);
  if (take<int64_t>(node, "transA").value_or(0) != 0) a = transposed(node, emitter, a);
  if (take<int64_t>(node, "transB").value_or(0) != 0) b = transposed(node, emitter, b);
  if (alpha != 1.0F) {
    a = helper(node, emitter, "Mul", {a, scalar_like(node, emitter, "alpha", double{alpha})});
  }
  become(node, "MatMul", {a, b});
}

void bias_gelu(ImportNode& node, Emitter& emitter) {
  become(node, "Gelu", {added(node, emitter, input(node, 0), optional_input(node, 1))});
}

void fast_gelu(ImportNode& node, Emitter& emitter) {
  become(node, "Gelu", {added(node, emitter, input(node, 0), optional_input(node, 1))},
         {{"approximate", std::string("tanh")}});
}

void quick_gelu(ImportNode& node, Emitter&) {
  const float alpha = take<float>(node, "alpha").value_or(1.702F);
  become(node, "Swish", {input(node, 0)}, {{"alpha", alpha}});
}

// Outputs: y, mean, deviation, the sum that is normalized.
void skip_normalization(ImportNode& node, Emitter& emitter, bool simplified) {
  const float epsilon = take<float>(node, "epsilon").value_or(1e-12F);
  const ValueId bias = optional_input(node, simplified ? 3 : 4);
  ValueId sum = added(node, emitter, input(node, 0), input(node, 1));
  sum = added(node, emitter, sum, bias);
  TY_REQUIRE(!has_output(node, 1) && !has_output(node, 2), "its statistics are not supported");
  if (has_output(node, 3)) emitter.add_output("Identity", {sum}, {}, node.outputs[3]);
  node.outputs.resize(1);
  const ValueId shift = simplified ? kNoValue : optional_input(node, 3);
  become(node, simplified ? "RMSNormalization" : "LayerNormalization", {sum, input(node, 2), shift},
         {{"axis", int64_t{-1}}, {"epsilon", epsilon}});
}

void skip_layer_norm(ImportNode& node, Emitter& emitter) {
  skip_normalization(node, emitter, false);
}

void skip_simplified_layer_norm(ImportNode& node, Emitter& emitter) {
  skip_normalization(node, emitter, true);
}

// Inputs: ids, segment ids, tables of words, positions and segments, gamma, beta, mask, position
// ids.
void embed_layer_norm(ImportNode& node, Emitter& emitter) {
  const float epsilon = take<float>(node, "epsilon").value_or(1e-12F);
  const ValueId ids = input(node, 0);
  TY_REQUIRE(!has_output(node, 1), "its mask index is not supported");
  ValueId sum = helper(node, emitter, "Gather", {input(node, 2), ids});
  const ValueId given = optional_input(node, 8);
  if (given.valid()) {
    sum = added(node, emitter, sum, helper(node, emitter, "Gather", {input(node, 3), given}));
  } else {
    const Shape& shape = emitter.shape(ids);
    TY_REQUIRE(shape.rank() == 2 && shape.is_static(), "ids have shape {}, expected batch x length",
               shape.to_string());
    Ints places;
    for (int64_t i = 0; i < shape[1]; ++i) places.push_back(i);
    const ValueId rows = emitter.add_ints(node.name + ".places", places);
    sum = added(node, emitter, sum, helper(node, emitter, "Gather", {input(node, 3), rows}));
  }
  if (optional_input(node, 1).valid() && optional_input(node, 4).valid()) {
    sum = added(node, emitter, sum,
                helper(node, emitter, "Gather", {input(node, 4), input(node, 1)}));
  }
  if (has_output(node, 2)) emitter.add_output("Identity", {sum}, {}, node.outputs[2]);
  node.outputs.resize(1);
  become(node, "LayerNormalization", {sum, input(node, 5), optional_input(node, 6)},
         {{"axis", int64_t{-1}}, {"epsilon", epsilon}});
}

void rotary(ImportNode& node, Emitter&) {
  drop(node, "scale");
  drop(node, "is_packed_batching");
  const ValueId positions = input(node, 1);
  node.inputs = {input(node, 0), input(node, 2), input(node, 3), positions};
}

constexpr Adapter kMicrosoftAdapters[] = {
    {"com.microsoft", "BiasGelu", 1, kAnyOpset, bias_gelu},
    {"com.microsoft", "EmbedLayerNormalization", 1, kAnyOpset, embed_layer_norm},
    {"com.microsoft", "FastGelu", 1, kAnyOpset, fast_gelu},
    {"com.microsoft", "FusedConv", 1, kAnyOpset, fused_conv},
    {"com.microsoft", "FusedGemm", 1, kAnyOpset, fused_gemm},
    {"com.microsoft", "FusedMatMul", 1, kAnyOpset, fused_matmul},
    {"com.microsoft", "Gelu", 1, kAnyOpset, bias_gelu},
    {"com.microsoft", "QuickGelu", 1, kAnyOpset, quick_gelu},
    {"com.microsoft", "RotaryEmbedding", 1, kAnyOpset, rotary},
    {"com.microsoft", "SkipLayerNormalization", 1, kAnyOpset, skip_layer_norm},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", 1, kAnyOpset, skip_simplified_layer_norm},
};

}  // namespace

std::span<const Adapter> microsoft_adapters() {
  return kMicrosoftAdapters;
}

}  // namespace trainyard::onnx_io
