#include <gtest/gtest.h>

#include "ir/node_view.h"
#include "ir/printer.h"
#include "ops/builder.h"
#include "ops/inference.h"
#include "ops/passes/pass.h"

namespace trainyard::passes {
namespace {

using ops::Builder;
using Ints = std::vector<int64_t>;

void run_pass(Graph& graph, std::string_view name) {
  for (const PassList& list : {training_passes(), before_gradients_passes()}) {
    for (const Pass& pass : list.passes) {
      if (pass.name != name) continue;
      pass.run(graph, {});
      EXPECT_TRUE(ops::verify_graph(graph).empty()) << ops::verify_graph(graph)[0];
      return;
    }
  }
  FAIL() << "no pass " << name;
}

// The lines of the nodes alone.
std::string nodes_of(const Graph& graph) {
  const std::string text = print_graph(graph);
  std::string nodes;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (line.find(" = ") != std::string::npos && !line.starts_with("  init")) nodes += line + "\n";
    at = end + 1;
  }
  return nodes;
}

ValueId floats(Builder& b, std::string_view name, const Shape& shape, float value) {
  Tensor tensor(DType::kF32, shape);
  for (float& x : tensor.values<float>()) x = value;
  return b.constant(name, std::move(tensor));
}

TEST(Passes, IdentitiesGo) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2, 3}});
  const ValueId y = b.add("Identity", {b.add("Dropout", {b.add("Identity", {x})})});
  graph.set_outputs({b.add("Relu", {y})});
  run_pass(graph, "drop_identities");
  EXPECT_EQ(nodes_of(graph), "  relu : f32[2,3] = Relu(x)\n");
}

TEST(Passes, KnownValuesAreFolded) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2, 3}});
  const ValueId shape = b.add("Shape", {x});
  const ValueId one = b.constant("one", Tensor::scalar<int64_t>(1));
  const ValueId columns = b.add("Gather", {shape, one});
  graph.set_outputs({b.add("Relu", {x}), b.add("Mul", {columns, columns})});
  run_pass(graph, "fold_constants");
  EXPECT_EQ(nodes_of(graph), "  relu : f32[2,3] = Relu(x)\n");
  EXPECT_EQ(to_ints(*graph.value(graph.outputs()[1]).constant), (Ints{9}));
}

TEST(Passes, WhatNoOutputNeedsIsRemoved) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2, 3}});
  b.add("Add", {b.add("Relu", {x}), floats(b, "c", {3}, 1)});
  graph.set_outputs({b.add("Tanh", {x})});
  run_pass(graph, "remove_dead");
  EXPECT_EQ(nodes_of(graph), "  tanh : f32[2,3] = Tanh(x)\n");
  EXPECT_TRUE(graph.initializers().empty());
}

TEST(Passes, PaddingGoesIntoTheConvolution) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {1, 1, 4, 4}});
  const ValueId pads = b.constant_ints("pads", Ints{0, 0, 1, 2, 0, 0, 3, 4});
  const ValueId w = floats(b, "w", {1, 1, 2, 2}, 1);
  graph.set_outputs({b.add("Conv", {b.add("Pad", {x, pads}), w})});
  run_pass(graph, "fold_padding");
  EXPECT_EQ(nodes_of(graph), "  conv : f32[1,1,7,9] = Conv(x, w) {pads=[1,2,3,4]}\n");
}

TEST(Passes, NormalizationGoesIntoTheWeights) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {1, 1, 2, 2}});
  const ValueId w = floats(b, "w", {2, 1, 1, 1}, 3);
  const ValueId conv = b.add("Conv", {x, w});
  const ValueId y = b.add("BatchNormalization",
                          {conv, floats(b, "scale", {2}, 2), floats(b, "shift", {2}, 5),
                           floats(b, "mean", {2}, 1), floats(b, "variance", {2}, 4)},
                          {{"epsilon", 0.0F}});
  graph.set_outputs({y});
  run_pass(graph, "fold_affine");
  EXPECT_EQ(nodes_of(graph), "  conv : f32[1,2,2,2] = Conv(x, conv.weights, conv.bias)\n");
  const auto number = [&](std::string_view name) {
    return element_as_double(*graph.value(graph.find_value(name)).constant, 0);
  };
  EXPECT_DOUBLE_EQ(number("conv.weights"), 3.0);  // 3 * 2 / sqrt(4)
  EXPECT_DOUBLE_EQ(number("conv.bias"), 4.0);     // 5 - 1 * 2 / sqrt(4)
}

// As many summands as columns, but one for each row, are none of the columns'.
TEST(Passes, NormalizationStaysBehindABiasOfRows) {
  for (const Shape& bias : {Shape{2}, Shape{1, 2}, Shape{2, 1}}) {
    Graph graph;
    Builder b(graph);
    const ValueId x = b.input("x", {DType::kF32, {2, 3}});
    const ValueId product = b.add("Gemm", {x, floats(b, "w", {3, 2}, 3), floats(b, "c", bias, 1)});
    graph.set_outputs({b.add("BatchNormalization",
                             {product, floats(b, "scale", {2}, 2), floats(b, "shift", {2}, 5),
                              floats(b, "mean", {2}, 1), floats(b, "variance", {2}, 4)})});
    run_pass(graph, "fold_affine");
    EXPECT_EQ(graph.num_nodes(), bias.rank() == 2 && bias[0] == 2 ? 2 : 1) << bias.to_string();
  }
}

TEST(Passes, ScalesInARowBecomeOne) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {1, 2, 2, 2}});
  ValueId y = b.add("Mul", {x, floats(b, "a", {2, 1, 1}, 2)});
  y = b.add("Add", {floats(b, "c", {1, 2, 1, 1}, 3), y});
  graph.set_outputs({b.add("Mul", {y, floats(b, "d", {}, 10)})});
  run_pass(graph, "fold_affine");
  EXPECT_EQ(nodes_of(graph), "  mul : f32[1,2,2,2] = ScaleShift(x, mul.weights, mul.bias)\n");
  EXPECT_DOUBLE_EQ(element_as_double(*graph.value(graph.find_value("mul.bias")).constant, 1), 30.0);
}

TEST(Passes, AConvolutionUsedTwiceKeepsItsWeights) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {1, 1, 2, 2}});
  const ValueId conv = b.add("Conv", {x, floats(b, "w", {2, 1, 1, 1}, 3)});
  graph.set_outputs({conv, b.add("Mul", {conv, floats(b, "a", {2, 1, 1}, 2)})});
  run_pass(graph, "fold_affine");
  EXPECT_EQ(nodes_of(graph),
            "  conv : f32[1,2,2,2] = Conv(x, w)\n"
            "  mul : f32[1,2,2,2] = ScaleShift(conv, mul.scale, mul.shift)\n");
}

TEST(Passes, TheLaterConvolutionTakesTheSumAndTheActivation) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {1, 1, 2, 2}});
  const ValueId first = b.add("Conv", {x, floats(b, "w", {2, 1, 1, 1}, 3)}, {}, "first");
  const ValueId second = b.add("Conv", {x, floats(b, "v", {2, 1, 1, 1}, 3)}, {}, "second");
  graph.set_outputs({b.add("Relu", {b.add("Add", {second, first})})});
  run_pass(graph, "fuse_sum");
  run_pass(graph, "fuse_activation");
  EXPECT_EQ(nodes_of(graph),
            "  first : f32[1,2,2,2] = Conv(x, w)\n"
            "  second : f32[1,2,2,2] = FusedConv(x, v, -, first) {activation=\"Relu\", "
            "activation_alpha=0, activation_beta=0}\n");
}

TEST(Passes, MatMulAndBiasBecomeGemm) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2, 3}});
  const ValueId product = b.add("MatMul", {x, floats(b, "w", {3, 4}, 1)});
  graph.set_outputs({b.add("Add", {floats(b, "c", {4}, 1), product})});
  run_pass(graph, "fuse_matmul_bias");
  EXPECT_EQ(nodes_of(graph), "  matmul : f32[2,4] = Gemm(x, w, c)\n");
}

TEST(Passes, GradientsOfNormalizationsAddTwoGradients) {
  Graph graph;
  Builder b(graph);
  const TensorType type{DType::kF32, {2, 3, 4}};
  const ValueId x = b.input("x", type);
  const ValueId one = b.input("one", type);
  const ValueId two = b.input("two", type);
  const ValueId channel = floats(b, "channel", {3}, 1);
  const ValueId dy = b.add("Add", {one, two});
  graph.set_outputs(b.add_multi("BatchNormGrad", {x, channel, channel, channel, dy, kNoValue, x}, 4,
                                {{"activation", std::string("Relu")}}, "norm"));
  run_pass(graph, "fuse_gradient_sum");
  const NodeView norm(graph, graph.find_node("norm"));
  EXPECT_EQ(graph.num_nodes(), 1);
  EXPECT_EQ(norm.input(4), one);
  EXPECT_EQ(norm.input(7), two);
}

// x -> norm -> +x -> relu -> norm -> clip; the last result of a normalization is used twice.
TEST(Passes, NormalizationsInTrainingTakeResidualAndActivation) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2, 3, 4}});
  const auto norm = [&](ValueId from, const std::string& name) {
    std::vector<ValueId> inputs = {from};
    for (const char* part : {".scale", ".bias", ".mean", ".variance"}) {
      inputs.push_back(b.parameter(name + part, {3}, init_constant(1)));
    }
    return b.add_multi("BatchNormTraining", inputs, 5, {}, name)[0];
  };
  const ValueId shortcut = norm(x, "shortcut");
  const ValueId sum = b.add("Add", {norm(x, "main"), shortcut});
  const ValueId middle = b.add("Relu", {sum});
  const ValueId bounded = b.add("Clip", {norm(middle, "second"), b.constant_scalar("low", 0.0F),
                                         b.constant_scalar("high", 6.0F)});
  const ValueId shared = norm(bounded, "third");
  graph.set_outputs({b.add("Add", {b.add("Relu", {shared}), shared})});
  run_pass(graph, "fuse_normalization");
  const auto node = [&](const char* name) { return NodeView(graph, graph.find_node(name)); };
  EXPECT_EQ(graph.num_nodes(), 6);
  EXPECT_EQ(node("main").input(5), shortcut);
  EXPECT_EQ(node("main").attr_text("activation", ""), "Relu");
  EXPECT_FALSE(node("shortcut").has_attr("activation"));
  EXPECT_EQ(node("second").attr_text("activation", ""), "Clip");
  EXPECT_EQ(node("second").attr_float("activation_beta", 0), 6.0F);
  EXPECT_FALSE(node("third").has_attr("activation"));
}

}  // namespace
}  // namespace trainyard::passes
