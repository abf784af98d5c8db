// Quantized operators of the domain com.microsoft: brought back to floats, computed, and quantized
// again, which is how they are defined.
#include "models/onnx/adapters/adapter.h"

namespace trainyard::onnx_io {
namespace {

class QuantizedNode {
 public:
  QuantizedNode(ImportNode& node, Emitter& emitter) : node_(node), emitter_(emitter) {}

  ValueId helper(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
    return emitter_.add_helper(op, std::move(inputs), std::move(attributes),
                               node_.name + "." + std::string(op));
  }
  // The operand at `i`, with scale and zero point after it.
  ValueId real(size_t i) { return dequantized(input(node_, i), i + 1); }
  // Scale and zero point from `i` on.
  ValueId dequantized(ValueId value, size_t i) {
    return helper("DequantizeLinear", {value, input(node_, i), optional_input(node_, i + 1)});
  }
  // The node gives `value` by the scale and zero point from `i` on.
  void quantize(ValueId value, size_t i) {
    node_.inputs = {value, input(node_, i), optional_input(node_, i + 1)};
    node_.op = "QuantizeLinear";
    node_.attributes.clear();
  }

 private:
  ImportNode& node_;
  Emitter& emitter_;
};

// a, scale, zero, b, scale, zero, y scale, y zero
void qlinear_binary(ImportNode& node, Emitter& emitter) {
  QuantizedNode q(node, emitter);
  const ValueId result = q.helper(node.op == "QLinearAdd" ? "Add" : "Mul", {q.real(0), q.real(3)});
  q.quantize(result, 6);
}

// y scale, y zero, then value, scale, zero of each
void qlinear_concat(ImportNode& node, Emitter& emitter) {
  QuantizedNode q(node, emitter);
  std::vector<ValueId> parts;
  for (size_t i = 2; i + 1 < node.inputs.size(); i += 3) parts.push_back(q.real(i));
  TY_REQUIRE(!parts.empty(), "there is nothing to join");
  const ValueId joined =
      q.helper("Concat", parts, {{"axis", take<int64_t>(node, "axis").value_or(0)}});
  q.quantize(joined, 0);
}

// x, scale, zero, y scale, y zero
void qlinear_unary(ImportNode& node, Emitter& emitter) {
  QuantizedNode q(node, emitter);
  TY_REQUIRE(take<int64_t>(node, "channels_last").value_or(0) == 0,
             "channels last are not supported");
  const std::string op = node.op.substr(std::string_view("QLinear").size());
  Attributes attributes = node.attributes;
  attributes.erase("opset");
  q.quantize(q.helper(op, {q.real(0)}, attributes), 3);
}

// a, scale, zero, b, scale, zero, c, y scale, y zero
void qgemm(ImportNode& node, Emitter& emitter) {
  QuantizedNode q(node, emitter);
  const auto flag = [&](const char* name) { return take<int64_t>(node, name).value_or(0); };
  const float alpha = take<float>(node, "alpha").value_or(1.0F);
  const ValueId a = q.real(0);
  const ValueId b = q.real(3);
  ValueId c = optional_input(node, 6);
  if (c.valid()) {
    // In steps of both scales together.
    const ValueId scale = q.helper("Mul", {input(node, 1), input(node, 4)});
    const ValueId steps = q.helper("Cast", {c}, {{"to", int64_t{1}}});
    c = q.helper("Mul", {steps, scale});
  }
  const ValueId y =
      q.helper("Gemm", {a, b, c},
               {{"alpha", alpha}, {"transA", flag("transA")}, {"transB", flag("transB")}});
  if (optional_input(node, 7).valid()) return q.quantize(y, 7);
  node.op = "Identity";
  node.inputs = {y};
  node.attributes.clear();
}

// a (f32), b, b scale, b zero, bias; or a, b, a scale, b scale, a zero, b zero, bias
void matmul_to_float(ImportNode& node, Emitter& emitter) {
  QuantizedNode q(node, emitter);
  const bool dynamic = node.op == "DynamicQuantizeMatMul";
  ValueId a = input(node, 0);
  ValueId b = input(node, 1);
  if (dynamic) {
    b = q.dequantized(b, 2);
  } else {
    a = q.helper("DequantizeLinear", {a, input(node, 2), optional_input(node, 4)});
    b = q.helper("DequantizeLinear", {b, input(node, 3), optional_input(node, 5)});
  }
  const ValueId bias = optional_input(node, dynamic ? 4 : 6);
  if (bias.valid()) {
    node.inputs = {q.helper("MatMul", {a, b}), bias};
    node.op = "Add";
  } else {
    node.inputs = {a, b};
    node.op = "MatMul";
  }
  node.attributes.clear();
}

// X, W, R, B, lengths, first states, peepholes, then scale and zero of W and of R. The weights lie
// transposed; inputs stay in floats, which is more exact than rounding them to eight bits.
void dynamic_quantize_lstm(ImportNode& node, Emitter& emitter) {
  QuantizedNode q(node, emitter);
  const auto weights = [&](size_t value, size_t scale) {
    const ValueId real =
        q.helper("DequantizeLinear",
                 {input(node, value), input(node, scale), optional_input(node, scale + 1)},
                 {{"axis", int64_t{0}}});
    return q.helper("Transpose", {real}, {{"perm", Ints{0, 2, 1}}});
  };
  const ValueId w = weights(1, 8);
  const ValueId r = weights(2, 10);
  node.inputs.resize(8);
  node.inputs[1] = w;
  node.inputs[2] = r;
  node.op = "LSTM";
}

// The same as ONNX's own of newer opsets.
void unchanged(ImportNode&, Emitter&) {}

constexpr std::string_view kMicrosoft = "com.microsoft";
constexpr Adapter kQuantizedAdapters[] = {
    {kMicrosoft, "DequantizeLinear", 1, kAnyOpset, unchanged},
    {kMicrosoft, "DynamicQuantizeLSTM", 1, kAnyOpset, dynamic_quantize_lstm},
    {kMicrosoft, "DynamicQuantizeMatMul", 1, kAnyOpset, matmul_to_float},
    {kMicrosoft, "MatMulIntegerToFloat", 1, kAnyOpset, matmul_to_float},
    {kMicrosoft, "QGemm", 1, kAnyOpset, qgemm},
    {kMicrosoft, "QLinearAdd", 1, kAnyOpset, qlinear_binary},
    {kMicrosoft, "QLinearAveragePool", 1, kAnyOpset, qlinear_unary},
    {kMicrosoft, "QLinearConcat", 1, kAnyOpset, qlinear_concat},
    {kMicrosoft, "QLinearGlobalAveragePool", 1, kAnyOpset, qlinear_unary},
    {kMicrosoft, "QLinearLeakyRelu", 1, kAnyOpset, qlinear_unary},
    {kMicrosoft, "QLinearMul", 1, kAnyOpset, qlinear_binary},
    {kMicrosoft, "QLinearSigmoid", 1, kAnyOpset, qlinear_unary},
    {kMicrosoft, "QLinearSoftmax", 1, kAnyOpset, qlinear_unary},
    {kMicrosoft, "QuantizeLinear", 1, kAnyOpset, unchanged},
};

}  // namespace

std::span<const Adapter> quantized_adapters() {
  return kQuantizedAdapters;
}

}  // namespace trainyard::onnx_io
