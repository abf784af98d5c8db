// Which initializers of a network from elsewhere are its parameters.
#include "analysis/parameters.h"

#include <limits>

#include <gtest/gtest.h>

#include "analysis/layers.h"
#include "ops/builder.h"

namespace trainyard::analysis {
namespace {

// A network as exporters write it: weights are initializers, and so are constants.
class Exported {
 public:
  ValueId drawn(const std::string& name, Shape shape) {
    return b.parameter(name, std::move(shape), init_he_normal(10));
  }
  ValueId filled(const std::string& name, const Shape& shape, std::vector<float> numbers) {
    return b.constant(name, Tensor::of<float>(shape, std::span<const float>(numbers)));
  }
  ValueId linear(ValueId x, const std::string& name, int64_t outputs) {
    const ValueId y = b.add("MatMul", {x, drawn(name + ".weight", {b.shape(x).dim(-1), outputs})});
    return b.add("Add", {y, drawn(name + ".bias", {outputs})});
  }
  ValueId norm(ValueId x, const std::string& name) {
    const Shape shape{b.shape(x).dim(-1)};
    return b.add("LayerNormalization",
                 {x, drawn(name + ".weight", shape), drawn(name + ".bias", shape)},
                 {{"axis", int64_t{-1}}});
  }
  std::vector<std::string> names(bool trainable) {
    const ParameterSearch found = search_parameters(graph);
    std::vector<std::string> names;
    for (const Parameter& p : found.parameters) {
      if (trainable) names.push_back(graph.value(p.value).name);
    }
    for (const ValueId id : found.fixed) {
      if (!trainable) names.push_back(graph.value(id).name);
    }
    return names;
  }

  Graph graph;
  ops::Builder b{graph};
};

using Names = std::vector<std::string>;

TEST(ForeignParameters, TokensAndPositionsOfAVisionTransformerCount) {
  // ViT-B/16 as torch.onnx writes torchvision's: 86,567,656 parameters.
  Exported net;
  ops::Builder& b = net.b;
  constexpr int64_t kHidden = 768;
  constexpr int64_t kPatches = 196;
  ValueId x = b.input("image", {DType::kF32, {1, 3, 224, 224}});
  x = b.add("Conv",
            {x, net.drawn("conv_proj.weight", {kHidden, 3, 16, 16}),
             net.drawn("conv_proj.bias", {kHidden})},
            {{"strides", std::vector<int64_t>{16, 16}}});
  const int64_t rows[] = {1, kHidden, kPatches};
  x = b.add("Reshape", {x, b.constant_ints("rows", rows)});
  x = b.add("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  const int64_t one[] = {1, 1, kHidden};
  const ValueId token =
      b.add("Expand", {net.drawn("class_token", {1, 1, kHidden}), b.constant_ints("one", one)});
  x = b.add("Concat", {token, x}, {{"axis", int64_t{1}}});
  x = b.add("Add", {x, net.drawn("encoder.pos_embedding", {1, kPatches + 1, kHidden})});
  for (int layer = 0; layer < 12; ++layer) {
    const std::string name = "layer" + std::to_string(layer);
    ValueId y = net.norm(x, name + ".ln_1");
    y = net.linear(y, name + ".in_proj", 3 * kHidden);
    const int64_t third = kHidden;
    const std::vector<int64_t> sizes(3, third);
    const std::vector<ValueId> parts = b.add_multi(
        "Split", {y, b.constant_ints(name + ".sizes", sizes)}, 3, {{"axis", int64_t{2}}});
    const ValueId scaled = b.add("Mul", {parts[0], net.filled(name + ".scale", {}, {0.125F})});
    y = b.add("Add", {b.add("Mul", {scaled, parts[1]}), parts[2]});
    x = b.add("Add", {x, net.linear(y, name + ".out_proj", kHidden)});
    y = net.linear(net.norm(x, name + ".ln_2"), name + ".mlp.0", 4 * kHidden);
    x = b.add("Add", {x, net.linear(b.add("Gelu", {y}), name + ".mlp.3", kHidden)});
  }
  x = net.linear(net.norm(x, "encoder.ln"), "heads.head", 1000);
  net.graph.set_outputs({x});
  EXPECT_EQ(analyze_layers(net.graph).totals.params.trainable(), 86'567'656);
  EXPECT_EQ(net.names(false), Names{});
}

TEST(ForeignParameters, ConstantsOfExportersDoNot) {
  Exported net;
  ops::Builder& b = net.b;
  const float infinity = std::numeric_limits<float>::infinity();
  ValueId x = b.input("x", {DType::kF32, {2, 3, 3}});
  // What prepares the input.
  x = b.add("Sub", {x, net.filled("mean", {3}, {1, 2, 3})});
  x = b.add("Div", {x, net.filled("std", {3}, {4, 5, 6})});
  x = net.linear(x, "first", 3);
  x = b.add("Div", {x, net.filled("root", {}, {1.7F})});
  x = b.add("Pow", {x, net.filled("exponent", {1}, {2})});
  x = b.add("Add", {x, net.filled("epsilon", {1}, {1e-5F})});
  x = b.add("Add", {x, net.filled("mask", {3, 3}, {0, -100, -100, 0, 0, -100, 0, 0, 0})});
  x = b.add("Add", {x, net.filled("endless", {1, 3, 3},
                                  {0, -infinity, -infinity, 0, 0, -infinity, 1, 0, 0})});
  x = b.add("Add", {x, net.filled("positions", {1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})});
  x = net.linear(x, "second", 1);
  // What is done with the results.
  x = b.add("Mul", {x, net.filled("anchors", {2, 3, 1}, {1, 2, 3, 4, 5, 6})});
  net.graph.set_outputs({x});
  EXPECT_EQ(net.names(true),
            (Names{"first.weight", "first.bias", "positions", "second.weight", "second.bias"}));
  EXPECT_EQ(net.names(false), (Names{"mean", "std", "mask", "endless", "anchors"}));
}

TEST(ForeignParameters, SlopesAndExponentiatedWeightsDo) {
  Exported net;
  ops::Builder& b = net.b;
  ValueId x = net.linear(b.input("x", {DType::kF32, {2, 4}}), "first", 4);
  x = b.add("PRelu", {x, net.drawn("slope", {1})});
  x = b.add("Mul", {x, b.add("Exp", {net.drawn("log_scale", {4})})});
  net.graph.set_outputs({x});
  EXPECT_EQ(net.names(true), (Names{"first.weight", "first.bias", "slope", "log_scale"}));
}

}  // namespace
}  // namespace trainyard::analysis
