// The arithmetic that exporters write for attention and activations is found and fused, and gives
// the same numbers.
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "ops/builder.h"
#include "runtime/graph_runner.h"

namespace trainyard::runtime {
namespace {

using ops::Builder;
using PatternInts = std::vector<int64_t>;

bool runs(const Graph& graph, std::string_view op) {
  for (const StepInfo& step : compile_graph(graph, /*reference=*/false).steps()) {
    if (step.op == op) return true;
  }
  return false;
}

void expect_same_as_reference(const Graph& graph) {
  const std::vector<Tensor> fast = run_graph(graph, /*reference=*/false);
  const std::vector<Tensor> reference = run_graph(graph, /*reference=*/true);
  ASSERT_EQ(fast.size(), reference.size());
  for (size_t i = 0; i < fast.size(); ++i) {
    EXPECT_LE(relative_error(fast[i], reference[i]), kSumTolerance);
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

}  // namespace
}  // namespace trainyard::runtime
