// The arithmetic that exporters write for attention and activations is found and fused, and gives
// the same numbers.
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/graph_runner.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

using ops::Builder;
using PatternInts = std::vector<int64_t>;

bool runs(const Graph& graph, std::string_view op) {
  const Executable executable = compile_graph(graph, /*reference=*/false);
  for (const StepInfo& step : executable.steps()) {
    if (step.op == op) return true;
  }
  return false;
}

void expect_same_as_reference(const Graph& graph, double tolerance = kSumTolerance) {
  const std::vector<Tensor> fast = run_graph(graph, /*reference=*/false);
  const std::vector<Tensor> reference = run_graph(graph, /*reference=*/true);
  ASSERT_EQ(fast.size(), reference.size());
  for (size_t i = 0; i < fast.size(); ++i) {
    EXPECT_LE(relative_error(fast[i], reference[i]), tolerance);
  }
}

struct AttentionForm {
  bool rows = true;         // heads come side by side
  bool direct_keys = true;  // K^T in one transposition
  bool divides = false;     // by sqrt(depth), else factors on both sides
  bool causal = false;
  bool masked = false;
};

Graph attention_graph(const AttentionForm& form) {
  constexpr int64_t kBatch = 2, kHeads = 3, kRows = 5, kDepth = 4;
  Graph graph;
  Builder b(graph);
  const auto turned = [&](ValueId x, PatternInts order) {
    return b.add("Transpose", {x}, {{"perm", std::move(order)}});
  };
  const auto heads = [&](const char* name) {
    if (!form.rows) return b.input(name, {DType::kF32, {kBatch, kHeads, kRows, kDepth}});
    const ValueId x = b.input(name, {DType::kF32, {kBatch, kRows, kHeads * kDepth}});
    return b.add("Reshape",
                 {x, b.constant_ints("cut", PatternInts{kBatch, kRows, kHeads, kDepth})});
  };
  ValueId q = heads("q");
  ValueId k = heads("k");
  ValueId v = heads("v");
  if (form.rows) {
    q = turned(q, {0, 2, 1, 3});
    v = turned(v, {0, 2, 1, 3});
  }
  if (form.rows && form.direct_keys) {
    k = turned(k, {0, 2, 3, 1});
  } else {
    k = turned(form.rows ? turned(k, {0, 2, 1, 3}) : k, {0, 1, 3, 2});
  }
  const ValueId root = b.constant_scalar("root", std::sqrt(0.5F));
  if (!form.divides) {
    q = b.add("Mul", {q, root});
    k = b.add("Mul", {k, root});
  }
  ValueId scores = b.add("MatMul", {q, k});
  if (form.divides) scores = b.add("Div", {scores, b.constant_scalar("two", 2.0F)});
  if (form.masked) {
    scores = b.add("Add", {scores, b.input("mask", {DType::kF32, {kBatch, 1, 1, kRows}})});
  }
  if (form.causal) {
    Tensor mask = Tensor::zeros({DType::kF32, {1, 1, kRows, kRows}});
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t j = i + 1; j < kRows; ++j) {
        mask.values<float>()[static_cast<size_t>(i * kRows + j)] = -1e9F;
      }
    }
    scores = b.add("Add", {scores, b.constant("causal", std::move(mask))});
  }
  ValueId y = b.add("MatMul", {b.add("Softmax", {scores}, {{"axis", int64_t{-1}}}), v});
  if (form.rows) y = turned(y, {0, 2, 1, 3});
  graph.set_outputs({y});
  return graph;
}

TEST(FusePatterns, Attention) {
  for (const AttentionForm& form :
       {AttentionForm{}, AttentionForm{.rows = false}, AttentionForm{.direct_keys = false},
        AttentionForm{.divides = true}, AttentionForm{.divides = true, .causal = true},
        AttentionForm{.divides = true, .masked = true},
        AttentionForm{.rows = false, .direct_keys = false, .masked = true}}) {
    const Graph graph = attention_graph(form);
    SCOPED_TRACE(::testing::Message()
                 << form.rows << form.direct_keys << form.divides << form.causal << form.masked);
    EXPECT_TRUE(runs(graph, "Attention"));
    EXPECT_FALSE(runs(graph, "Softmax"));
    expect_same_as_reference(graph);
  }
}

// The shares are asked for too, so they have to be made.
TEST(FusePatterns, AttentionWhoseSharesAreUsedElsewhereStays) {
  Graph graph = attention_graph({});
  for (const NodeId id : graph.node_ids()) {
    if (graph.node(id).op != "Softmax") continue;
    graph.set_outputs({graph.outputs()[0], graph.node(id).outputs[0]});
    break;
  }
  EXPECT_FALSE(runs(graph, "Attention"));
  expect_same_as_reference(graph);
}

Graph gelu_graph(int form) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {3, 17}});
  const ValueId half = b.constant_scalar("half", 0.5F);
  const ValueId inner =
      form == 1 ? b.add("Mul", {b.constant_scalar("r", std::numbers::sqrt2_v<float> / 2), x})
                : b.add("Div", {x, b.constant_scalar("r", std::numbers::sqrt2_v<float>)});
  const ValueId gate = b.add("Add", {b.add("Erf", {inner}), b.constant_scalar("one", 1.0F)});
  ValueId y;
  if (form == 0) y = b.add("Mul", {b.add("Mul", {x, gate}), half});
  if (form == 1) y = b.add("Mul", {b.add("Mul", {x, half}), gate});
  if (form == 2) y = b.add("Mul", {x, b.add("Mul", {gate, half})});
  graph.set_outputs({y});
  return graph;
}

TEST(FusePatterns, Gelu) {
  for (const int form : {0, 1, 2}) {
    SCOPED_TRACE(form);
    const Graph graph = gelu_graph(form);
    EXPECT_TRUE(runs(graph, "Gelu"));
    EXPECT_FALSE(runs(graph, "Erf"));
    expect_same_as_reference(graph);
  }
}

// How a file writes x/2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), and what makes it another.
struct TanhForm {
  const char* cube = "Pow";     // or by Mul: "(xx)x", "x(xx)"; "1+xx": x taken out of the sum
  const char* half = "first";   // 0.5 x; "last": (x gate) 0.5; "gate": (0.5 gate) x
  bool constants_left = false;  // of products and sums
  double root = 0.7978845608028654;
  double cubic = 0.044715;
  double exponent = 3;
  double one = 1;
  const char* also = "";  // this intermediate is a result too
};

// Binary operators of a pattern whose constants stand on one side or the other.
struct PatternWriter {
  ValueId with(std::string_view op, ValueId x, double number) {
    const ValueId constant = b.constant_scalar("number", static_cast<float>(number));
    return left ? b.add(op, {constant, x}) : b.add(op, {x, constant});
  }
  ValueId mul(ValueId x, ValueId y) { return b.add("Mul", {x, y}); }

  Builder& b;
  bool left;
};

ValueId tanh_argument(PatternWriter& w, ValueId x, const TanhForm& form) {
  const std::string_view cube = form.cube;
  if (cube == "1+xx") {
    const ValueId sum = w.with("Add", w.mul(w.with("Mul", x, form.cubic), x), 1);
    return w.mul(w.with("Mul", x, form.root), sum);
  }
  ValueId cubed;
  if (cube == "(xx)x") cubed = w.mul(w.mul(x, x), x);
  if (cube == "x(xx)") cubed = w.mul(x, w.mul(x, x));
  if (cube == "Pow") {
    cubed = w.b.add("Pow", {x, w.b.constant_scalar("n", static_cast<float>(form.exponent))});
  }
  const ValueId sum = w.b.add("Add", {x, w.with("Mul", cubed, form.cubic)});
  return w.with("Mul", sum, form.root);
}

Graph tanh_gelu_graph(const TanhForm& form) {
  Graph graph;
  Builder b(graph);
  PatternWriter w{b, form.constants_left};
  // x is a product with a number itself: where the pattern starts, only its constants show.
  const ValueId x = w.with("Mul", b.input("small", {DType::kF32, {3, 17}}), 4);
  const ValueId tanh = b.add("Tanh", {tanh_argument(w, x, form)});
  const ValueId gate = w.with("Add", tanh, form.one);
  const std::string_view half = form.half;
  ValueId y;
  if (half == "first") y = w.mul(w.with("Mul", x, 0.5), gate);
  if (half == "last") y = w.with("Mul", w.mul(x, gate), 0.5);
  if (half == "gate") y = w.mul(w.with("Mul", gate, 0.5), x);
  std::vector<ValueId> outputs = {y};
  if (form.also == std::string_view("tanh")) outputs.push_back(tanh);
  if (form.also == std::string_view("gate")) outputs.push_back(gate);
  graph.set_outputs(outputs);
  return graph;
}

TEST(FusePatterns, GeluByTanh) {
  constexpr double kSame = 1e-6;
  for (const char* cube : {"Pow", "(xx)x", "x(xx)", "1+xx"}) {
    for (const char* half : {"first", "last", "gate"}) {
      for (const bool left : {false, true}) {
        SCOPED_TRACE(fmt::format("{}, 0.5 {}, constants left: {}", cube, half, left));
        const Graph graph = tanh_gelu_graph({.cube = cube, .half = half, .constants_left = left});
        EXPECT_TRUE(runs(graph, "Gelu"));
        EXPECT_EQ(compile_graph(graph, /*reference=*/false).steps().size(), 2U);  // 4 small, Gelu
        expect_same_as_reference(graph, kSame);
      }
    }
  }
}

TEST(FusePatterns, WhatIsNotQuiteGeluByTanhStays) {
  const TanhForm others[] = {{.root = 0.8},  {.cubic = 0.0447}, {.exponent = 2},
                             {.one = 1.001}, {.also = "tanh"},  {.also = "gate"}};
  for (const TanhForm& form : others) {
    SCOPED_TRACE(
        fmt::format("{} {} {} {} {}", form.root, form.cubic, form.exponent, form.one, form.also));
    const Graph graph = tanh_gelu_graph(form);
    EXPECT_FALSE(runs(graph, "Gelu"));
    expect_same_as_reference(graph);
  }
}

// The search for x passes nodes of which an input is absent.
TEST(FusePatterns, TanhOfANodeWithoutItsSecondInputStays) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {3, 17}});
  graph.set_outputs({b.add("Tanh", {b.add("Clip", {x, kNoValue})})});
  EXPECT_FALSE(runs(graph, "Gelu"));
  expect_same_as_reference(graph);
}

// A constant of three dimensions gives a matrix a third one, which Gelu would not.
TEST(FusePatterns, GeluWhoseConstantsAddADimensionStays) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {3, 17}});
  const auto number = [&](float value) {
    Tensor tensor(DType::kF32, {1, 1, 1});
    tensor.values<float>()[0] = value;
    return b.constant("number", std::move(tensor));
  };
  const ValueId erf = b.add("Erf", {b.add("Div", {x, number(std::numbers::sqrt2_v<float>)})});
  const ValueId gate = b.add("Add", {erf, number(1.0F)});
  graph.set_outputs({b.add("Mul", {b.add("Mul", {x, gate}), number(0.5F)})});
  EXPECT_FALSE(runs(graph, "Gelu"));
  expect_same_as_reference(graph);
}

// As exporters write the layers of a transformer: rows of three dimensions, a bias, Gelu.
TEST(FusePatterns, LinearLayerOfRowsInSeveralDimensions) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2, 5, 12}});
  const ValueId first = b.add("MatMul", {x, b.constant("w", random_tensor({12, 20}, 3))});
  const ValueId sum = b.add("Add", {b.constant("c", random_tensor({20}, 4)), first});
  const ValueId wide = b.add("Gelu", {sum});
  const ValueId y = b.add("MatMul", {wide, b.constant("v", random_tensor({20, 12}, 5))});
  graph.set_outputs({b.add("Add", {y, x}), wide});
  EXPECT_TRUE(runs(graph, "FusedGemm"));
  EXPECT_FALSE(runs(graph, "Gelu"));
  EXPECT_FALSE(runs(graph, "MatMul"));
  expect_same_as_reference(graph);
}

TEST(FusePatterns, SwishGoesIntoTheConvolutionBefore) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {1, 16, 7, 7}});
  const ValueId w = b.constant("w", random_tensor({16, 16, 1, 1}, 3));
  const ValueId y = b.add("Conv", {x, w});
  graph.set_outputs({b.add("Mul", {y, b.add("Sigmoid", {y})})});
  EXPECT_FALSE(runs(graph, "Sigmoid"));
  EXPECT_TRUE(runs(graph, "FusedConv"));
  expect_same_as_reference(graph);
}

// As torch.export writes pooling over an image; means over other axes stay.
TEST(FusePatterns, MeansOfPlacesArePools) {
  for (const int64_t keepdims : {0, 1}) {
    for (const bool of_places : {true, false}) {
      Graph graph;
      Builder b(graph);
      const ValueId x = b.input("x", {DType::kF32, {2, 16, 7, 5}});
      const PatternInts axes = of_places ? PatternInts{-1, -2} : PatternInts{1, 2};
      graph.set_outputs({b.add("ReduceMean", {x}, {{"axes", axes}, {"keepdims", keepdims}})});
      EXPECT_EQ(runs(graph, "GlobalAveragePool"), of_places);
      EXPECT_EQ(runs(graph, "ReduceMean"), !of_places);
      expect_same_as_reference(graph);
    }
  }
}

}  // namespace
}  // namespace trainyard::runtime
