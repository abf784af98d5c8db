#include "analysis/layers.h"

#include <gtest/gtest.h>

#include "analysis/compare.h"
#include "analysis/networks.h"

namespace trainyard::analysis {
namespace {

const Layer& layer(const LayerTable& table, std::string_view name) {
  for (const Layer& l : table.layers) {
    if (l.name == name) return l;
  }
  ADD_FAILURE() << "no layer " << name;
  return table.layers.front();
}

TEST(Layers, CountsOneNetworkByHand) {
  const LayerTable table = analyze_layers(small_net(2));
  ASSERT_EQ(table.layers.size(), 6U);

  const Layer& image = table.layers[0];
  EXPECT_EQ(image.op, "Input");
  EXPECT_EQ(image.kind, "input");
  EXPECT_EQ(image.figures.activations, 2 * 3 * 8 * 8);

  const Layer& conv = layer(table, "conv");
  EXPECT_EQ(conv.kind, "convolution");
  EXPECT_EQ(conv.output_shape, (Shape{2, 4, 8, 8}));
  EXPECT_EQ(conv.figures.activations, 2 * 4 * 64);
  EXPECT_EQ(conv.figures.activation_bytes, 4 * 2 * 4 * 64);
  EXPECT_EQ(conv.figures.params.weights, 4 * 3 * 9);
  EXPECT_EQ(conv.figures.params.biases, 4);
  EXPECT_EQ(conv.figures.cost.macs, 2 * 4 * 64 * 27);
  EXPECT_EQ(conv.figures.cost.flops, 2 * 2 * 4 * 64 * 27 + 2 * 4 * 64);
  const int64_t moved = 4 * (2 * 3 * 64 + 108 + 4 + 2 * 4 * 64);
  EXPECT_EQ(conv.figures.bytes_moved(), moved);
  EXPECT_DOUBLE_EQ(conv.figures.intensity(),
                   static_cast<double>(conv.figures.cost.flops) / static_cast<double>(moved));

  EXPECT_EQ(table.totals.params.trainable(), 112 + 640 + 10);
  EXPECT_EQ(table.totals.params.weights, 108 + 640);
  EXPECT_EQ(table.totals.cost.macs, 2 * (4 * 64 * 27 + 640));
}

TEST(Layers, NetworkWithoutCostHasNoShare) {
  EXPECT_EQ(share(0, 0), 0.0);
  EXPECT_EQ(share(1, 4), 0.25);
}

TEST(Layers, ReluAndFlattenNeedNoMemoryOfTheirOwn) {
  const LayerTable table = analyze_layers(small_net(1));
  EXPECT_FALSE(layer(table, "conv").in_place);
  EXPECT_TRUE(layer(table, "relu").in_place);
  EXPECT_FALSE(layer(table, "pool").in_place);
  EXPECT_TRUE(layer(table, "flatten").in_place);
  EXPECT_EQ(table.stored_activations, 192 + 256 + 64 + 10);
  EXPECT_EQ(table.totals.activations, 192 + 256 + 256 + 64 + 64 + 10);
}

TEST(Layers, ReluOverAValueThatIsNeededLaterIsNotInPlace) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = conv(b, b.input("x", {DType::kF32, {1, 1, 4, 4}}), 1, 1, 1, 0, "conv");
  const ValueId y = b.add("Relu", {x}, {}, "relu");
  graph.set_outputs({b.add("Add", {x, y}, {}, "add")});
  const LayerTable table = analyze_layers(graph);
  EXPECT_FALSE(layer(table, "relu").in_place);
  EXPECT_TRUE(layer(table, "add").in_place);
}

TEST(Layers, KindsAddUpToTheTotals) {
  const LayerTable table = analyze_layers(small_net(3));
  Figures sum;
  int64_t layers = 0;
  for (const KindTotal& kind : table.kinds) {
    sum.cost.flops += kind.figures.cost.flops;
    sum.activations += kind.figures.activations;
    layers += kind.layers;
  }
  EXPECT_EQ(sum.cost.flops, table.totals.cost.flops);
  EXPECT_EQ(sum.activations, table.totals.activations);
  EXPECT_EQ(layers, static_cast<int64_t>(table.layers.size()));
  EXPECT_EQ(table.kinds.front().kind, "convolution");
}

TEST(Layers, NotCountedNamesTheOperatorsWithoutArithmetic) {
  Graph graph;
  ops::Builder b(graph);
  ValueId x = b.input("x", {DType::kF32, {1, 2, 4, 4}});
  x = b.add("Concat", {x, x}, {{"axis", int64_t{1}}});
  x = b.add("Concat", {x, x}, {{"axis", int64_t{1}}});
  graph.set_outputs({b.add("Flatten", {b.add("Relu", {x})})});
  const LayerTable table = analyze_layers(graph);
  ASSERT_EQ(table.not_counted.size(), 2U);
  EXPECT_EQ(table.not_counted[0].op, "Concat");
  EXPECT_EQ(table.not_counted[0].nodes, 2);
  EXPECT_FALSE(table.not_counted[0].unknown_shape);
  EXPECT_EQ(table.not_counted[1].op, "Flatten");
}

TEST(Layers, NotCountedTellsWorkThatOnlyTheDataDecides) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {1, Shape::kUnknown}});
  graph.set_outputs({b.add("Relu", {x})});
  const LayerTable table = analyze_layers(graph);
  ASSERT_EQ(table.not_counted.size(), 1U);
  EXPECT_TRUE(table.not_counted[0].unknown_shape);
  EXPECT_EQ(table.totals.activations, 0);
}

TEST(Parameters, SharedInitializerCountsOnceAtItsFirstConsumer) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId w = b.parameter("w", {2, 2, 1, 1}, init_constant(1));
  ValueId x = b.input("x", {DType::kF32, {1, 2, 4, 4}});
  x = b.add("Conv", {x, w}, {}, "first");
  x = b.add("Conv", {x, w}, {}, "second");
  graph.set_outputs({x});
  const LayerTable table = analyze_layers(graph);
  EXPECT_EQ(layer(table, "first").figures.params.weights, 4);
  EXPECT_EQ(layer(table, "second").figures.params.weights, 0);
  EXPECT_EQ(table.totals.params.trainable(), 4);
}

TEST(Parameters, StatisticsAreNotTrainable) {
  Graph graph;
  ops::Builder b(graph);
  graph.set_outputs({norm(b, b.input("x", {DType::kF32, {1, 8, 2, 2}}), "bn")});
  const ParamCounts params = analyze_layers(graph).totals.params;
  EXPECT_EQ(params.weights, 8);
  EXPECT_EQ(params.biases, 8);
  EXPECT_EQ(params.statistics, 16);
  EXPECT_EQ(params.trainable(), 16);
}

TEST(Parameters, ElementwiseOperatorsHaveVectorsForParameters) {
  Graph graph;
  ops::Builder b(graph);
  ValueId x = conv(b, b.input("x", {DType::kF32, {1, 3, 4, 4}}), 3, 1, 1, 0, "conv");
  x = b.add("Mul", {x, b.constant_scalar("two", 2)});
  x = b.add("Mul", {x, b.parameter("table", {4, 4}, init_constant(1))});
  x = b.add("Add", {x, b.parameter("bias", {3, 1, 1}, init_constant(1))}, {}, "add");
  graph.set_outputs({x});
  const LayerTable table = analyze_layers(graph);
  EXPECT_EQ(table.totals.params.trainable(), layer(table, "conv").figures.params.trainable() + 3);
  EXPECT_EQ(layer(table, "add").figures.params.biases, 3);
}

TEST(Parameters, AreFoundBehindViewsAndTransposes) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {1, 6}});
  const int64_t shape[] = {4, 6};
  ValueId w = b.parameter("w", {2, 2, 6}, init_constant(1));
  w = b.add("Reshape", {w, b.constant_ints("shape", shape)});
  w = b.add("Transpose", {w});
  graph.set_outputs({b.add("MatMul", {x, w}, {}, "product")});
  const LayerTable table = analyze_layers(graph);
  EXPECT_EQ(layer(table, "product").figures.params.weights, 24);
  EXPECT_EQ(table.totals.params.trainable(), 24);
}

TEST(Parameters, QuantizedWeightsCount) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kU8, {1, 6}});
  const ValueId w = b.parameter("w", {6, 5}, init_constant(1), DType::kI8);
  graph.set_outputs({b.add("MatMulInteger", {x, w}, {}, "product")});
  EXPECT_EQ(analyze_layers(graph).totals.params.weights, 30);
}

TEST(Compare, SavingIsTheShareOfTheFirstThatTheSecondDoesWithout) {
  const LayerTable one = analyze_layers(small_net(1));
  const LayerTable four = analyze_layers(small_net(4));
  for (const ComparedQuantity& q : compare(four, one)) {
    if (q.name == "macs") {
      EXPECT_EQ(q.difference(), one.totals.cost.macs - four.totals.cost.macs);
      EXPECT_DOUBLE_EQ(q.saving(), 0.75);
    }
    if (q.name == "params") {
      EXPECT_EQ(q.saving(), 0.0);
    }
  }
}

}  // namespace
}  // namespace trainyard::analysis
