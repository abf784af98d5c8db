// Quantized graphs become operators on bytes.
#include <gtest/gtest.h>

#include "ir/node_view.h"
#include "ir/printer.h"
#include "ops/builder.h"
#include "ops/inference.h"
#include "ops/passes/pass.h"

namespace trainyard::passes {
namespace {

using ops::Builder;

class QuantizedGraph {
 public:
  QuantizedGraph() : b(graph) {}

  ValueId number(float value) { return b.constant_scalar(graph.unique_name("scale"), value); }
  template <typename T>
  ValueId zero(T value) {
    return b.constant(graph.unique_name("zero"), Tensor::scalar<T>(value));
  }
  template <typename T = uint8_t>
  ValueId quantize(ValueId real, float scale, int zero_point) {
    return b.add("QuantizeLinear", {real, number(scale), zero<T>(static_cast<T>(zero_point))});
  }
  template <typename T = uint8_t>
  ValueId dequantize(ValueId steps, float scale, int zero_point) {
    return b.add("DequantizeLinear", {steps, number(scale), zero<T>(static_cast<T>(zero_point))});
  }
  // Both, as quantizers put them on a tensor.
  template <typename T = uint8_t>
  ValueId on_tensor(ValueId real, float scale, int zero_point) {
    return dequantize<T>(quantize<T>(real, scale, zero_point), scale, zero_point);
  }
  ValueId weights(const Shape& shape, int8_t value) {
    Tensor tensor(DType::kI8, shape);
    for (int8_t& w : tensor.values<int8_t>()) w = value;
    const ValueId steps = b.constant(graph.unique_name("w"), std::move(tensor));
    return b.add("DequantizeLinear", {steps, number(0.5F)});
  }

  // The operators that are left, in order.
  std::string rewritten(ValueId output) {
    graph.set_outputs({output});
    for (const Pass& pass : inference_passes().passes) {
      if (pass.name == "fold_constants") break;
      pass.run(graph, {});
      EXPECT_TRUE(ops::verify_graph(graph).empty()) << ops::verify_graph(graph)[0];
    }
    std::string names;
    for (const NodeId id : graph.node_ids()) names += graph.node(id).op + " ";
    return names;
  }
  NodeView node(std::string_view op) const {
    for (const NodeId id : graph.node_ids()) {
      if (graph.node(id).op == op) return {graph, id};
    }
    ADD_FAILURE() << "no " << op;
    return {graph, graph.node_ids()[0]};
  }

  Graph graph;
  Builder b;
};

ValueId image_input(QuantizedGraph& q, int64_t channels) {
  return q.b.input("x", {DType::kF32, {1, channels, 4, 4}});
}

TEST(Quantized, ConvolutionsTakeTheActivation) {
  QuantizedGraph q;
  const ValueId x = q.on_tensor(image_input(q, 2), 0.5F, 10);
  const ValueId y = q.b.add("Relu", {q.b.add("Conv", {x, q.weights({3, 2, 1, 1}, 2)})});
  EXPECT_EQ(q.rewritten(q.on_tensor(y, 0.25F, 7)),
            "QuantizeLinear QuantizedConv DequantizeLinear ");
  const NodeView conv = q.node("QuantizedConv");
  EXPECT_EQ(conv.attr_int("x_zero", 0), 10);
  EXPECT_EQ(conv.attr_int("y_zero", 0), 7);
  EXPECT_EQ(conv.attr_int("low", 0), 7);
  EXPECT_EQ(conv.attr_int("high", 0), 255);
  EXPECT_EQ(conv.input_constant(3)->values<float>()[0], 0.5F * 0.5F / 0.25F);
}

TEST(Quantized, ASumGoesIntoTheLaterConvolution) {
  QuantizedGraph q;
  const ValueId x = q.on_tensor(image_input(q, 2), 0.5F, 10);
  const ValueId a = q.b.add("Conv", {x, q.weights({2, 2, 1, 1}, 2)}, {}, "first");
  const ValueId b = q.b.add("Conv", {x, q.weights({2, 2, 1, 1}, 3)}, {}, "second");
  const ValueId sum = q.b.add("Add", {q.on_tensor(a, 1.0F, 1), q.on_tensor(b, 2.0F, 2)});
  EXPECT_EQ(q.rewritten(q.on_tensor(sum, 4.0F, 5)),
            "QuantizeLinear QuantizedConv QuantizedConv DequantizeLinear ");
  const NodeView conv(q.graph, q.graph.find_node("second"));
  EXPECT_TRUE(conv.has_input(4));
  EXPECT_EQ(conv.attr_float("own_ratio", 0), 0.5F);
  EXPECT_EQ(conv.attr_float("sum_ratio", 0), 0.25F);
  EXPECT_EQ(conv.attr_int("sum_zero", 0), 1);
  EXPECT_EQ(conv.attr_int("out_zero", 0), 5);
}

TEST(Quantized, BytesAreMovedAsBytes) {
  QuantizedGraph q;
  const ValueId x = q.on_tensor(image_input(q, 2), 0.5F, 10);
  const ValueId pooled = q.b.add("MaxPool", {x}, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  const ValueId flat = q.b.add("Flatten", {q.on_tensor(pooled, 0.5F, 10)});
  const ValueId y = q.b.add("Gemm", {flat, q.weights({18, 5}, 1)});
  EXPECT_EQ(q.rewritten(y), "QuantizeLinear MaxPool Flatten Reshape QuantizedConv Reshape ");
}

TEST(Quantized, OtherScalesAndFunctionsAreTables) {
  QuantizedGraph q;
  const ValueId x = q.on_tensor(q.b.input("x", {DType::kF32, {8}}), 0.5F, 10);
  const ValueId y = q.b.add("Sigmoid", {q.on_tensor(x, 0.25F, 0)});
  EXPECT_EQ(q.rewritten(q.on_tensor(y, 0.01F, 0)),
            "QuantizeLinear QuantizedTable QuantizedTable DequantizeLinear ");
}

TEST(Quantized, SignedBytesBecomeUnsigned) {
  QuantizedGraph q;
  const ValueId x = q.on_tensor<int8_t>(image_input(q, 2), 0.5F, -3);
  const ValueId y = q.b.add("Conv", {x, q.weights({3, 2, 1, 1}, 2)});
  EXPECT_EQ(q.rewritten(q.on_tensor<int8_t>(y, 0.25F, 4)),
            "QuantizeLinear QuantizedConv DequantizeLinear ");
  EXPECT_EQ(q.node("QuantizedConv").attr_int("x_zero", 0), 125);
  EXPECT_EQ(q.node("QuantizedConv").attr_int("y_zero", 0), 132);
}

TEST(Quantized, QLinearConvIsTheSame) {
  QuantizedGraph q;
  const ValueId x = q.b.input("x", {DType::kU8, {1, 2, 4, 4}});
  Tensor w(DType::kI8, {3, 2, 1, 1});
  for (int8_t& value : w.values<int8_t>()) value = 1;
  const ValueId y = q.b.add(
      "QLinearConv", {x, q.number(0.5F), q.zero<uint8_t>(3), q.b.constant("w", std::move(w)),
                      q.number(0.5F), q.zero<int8_t>(0), q.number(1.0F), q.zero<uint8_t>(9)});
  EXPECT_EQ(q.rewritten(y), "QuantizedConv ");
}

// As LSTM whose last state alone is wanted. Finding its type read outside of the graph's values.
TEST(Quantized, ANodeWithoutItsFirstOutputStays) {
  QuantizedGraph q;
  const ValueId x = q.b.input("x", {DType::kF32, {2, 1, 3}});
  const ValueId w = q.b.input("w", {DType::kF32, {1, 4, 3}});
  const ValueId r = q.b.input("r", {DType::kF32, {1, 4, 1}});
  const NodeId id = q.graph.add_node("lstm", "LSTM", {x, w, r}, {{"hidden_size", int64_t{1}}},
                                     std::vector<std::string>{"", "h"},
                                     std::vector<TensorType>{{}, {DType::kF32, {1, 1, 1}}});
  EXPECT_EQ(q.rewritten(q.graph.node(id).outputs[1]), "LSTM ");
}

// What bytes cannot do stays in floats.
TEST(Quantized, SumsThatMayOverflowStayFloat) {
  QuantizedGraph q;
  const ValueId x = q.on_tensor(q.b.input("x", {DType::kF32, {1, 70000, 1, 1}}), 0.5F, 0);
  const ValueId y = q.b.add("Conv", {x, q.weights({1, 70000, 1, 1}, 127)});
  EXPECT_EQ(q.rewritten(y), "QuantizeLinear DequantizeLinear DequantizeLinear Conv ");
}

}  // namespace
}  // namespace trainyard::passes
