// Operators that others make up as fast as a kernel of their own would be.
#include "models/onnx/adapters/adapter.h"

namespace trainyard::onnx_io {
namespace {

// Swish(a) * b
void swiglu(ImportNode& node, Emitter& emitter) {
  const float alpha = take<float>(node, "alpha").value_or(1.0F);
  const ValueId gate =
      emitter.add_helper("Swish", {input(node, 0)}, {{"alpha", alpha}}, node.name + ".gate");
  node.op = "Mul";
  node.inputs = {gate, input(node, 1)};
}

// The axis was an attribute, and 1 without one.
void dft_axis(ImportNode& node, Emitter& emitter) {
  const int64_t axis = take<int64_t>(node, "axis").value_or(1);
  set_input(node, 2, emitter.add_constant(node.name + ".axis", Tensor::scalar<int64_t>(axis)));
}

// A depthwise convolution that sees the rows before: those of the call before, or zeros. What it
// leaves for the next call are its last rows.
void causal_conv(ImportNode& node, Emitter& emitter) {
  const std::string activation = take<std::string>(node, "activation").value_or("none");
  TY_REQUIRE(
      activation == "none" || activation.empty() || activation == "silu" || activation == "swish",
      "activation '{}' is not one of none, silu, swish", activation);
  const ValueId x = input(node, 0);
  const ValueId weights = input(node, 1);
  const Shape w = emitter.shape(weights);
  const Shape shape = emitter.shape(x);
  TY_REQUIRE(w.rank() == 3 && shape.rank() == 3 && w.is_static() && w[0] == shape[1],
             "input {} and weights {} are no depthwise convolution", shape.to_string(),
             w.to_string());
  const int64_t past = w[2] - 1;
  ValueId rows = x;
  if (const ValueId state = optional_input(node, 3); state.valid()) {
    rows = emitter.add_helper("Concat", {state, x}, {{"axis", int64_t{2}}}, node.name + ".rows");
  } else if (past > 0) {
    const ValueId pads = emitter.add_ints(node.name + ".pads", {0, 0, past, 0, 0, 0});
    rows = emitter.add_helper("Pad", {x, pads}, {}, node.name + ".rows");
  }
  if (has_output(node, 1)) {
    const int64_t total = shape[2] + past;
    const ValueId from = emitter.add_ints(node.name + ".from", {total - past});
    const ValueId to = emitter.add_ints(node.name + ".to", {total});
    const ValueId axes = emitter.add_ints(node.name + ".axes", {2});
    emitter.add_output("Slice", {rows, from, to, axes}, {}, node.outputs[1]);
  }
  node.outputs.resize(1);
  const ValueId bias = optional_input(node, 2);
  const Attributes group = {{"group", w[0]}};
  node.attributes.clear();
  if (activation == "silu" || activation == "swish") {
    const ValueId sums =
        emitter.add_helper("Conv", {rows, weights, bias}, group, node.name + ".conv");
    node.op = "Swish";
    node.inputs = {sums};
  } else {
    node.op = "Conv";
    node.inputs = {rows, weights, bias};
    node.attributes = group;
  }
}

// What ONNX Runtime's exporters call RMSNormalization.
void simplified_layer_norm(ImportNode& node, Emitter&) {
  node.op = "RMSNormalization";
  node.outputs.resize(1);
}

constexpr Adapter kFunctionAdapters[] = {
    {"", "CausalConvWithState", 1, kAnyOpset, causal_conv},
    {"", "DFT", 1, 20, dft_axis},
    {"", "SimplifiedLayerNormalization", 1, kAnyOpset, simplified_layer_norm},
    {"", "SwiGLU", 1, kAnyOpset, swiglu},
};

}  // namespace

std::span<const Adapter> function_adapters() {
  return kFunctionAdapters;
}

}  // namespace trainyard::onnx_io
