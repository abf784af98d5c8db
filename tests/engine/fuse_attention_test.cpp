// Attention as PyTorch writes it without a batch, and with masks that Where chooses.
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/graph_inputs.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

using ops::Builder;
using AttentionInts = std::vector<int64_t>;

constexpr int64_t kFlatHeads = 6, kFlatRows = 5, kFlatDepth = 4;

enum class Mask { kNone, kKnownCausal, kKnown, kGiven, kGivenInverse, kTwo, kWeak };

Tensor lower_triangle(bool below) {
  Tensor mask(DType::kBool, {kFlatRows, kFlatRows});
  for (int64_t i = 0; i < kFlatRows * kFlatRows; ++i) {
    mask.values<bool>()[static_cast<size_t>(i)] = (i % kFlatRows <= i / kFlatRows) == below;
  }
  return mask;
}

ValueId masked(Builder& b, ValueId scores, Mask mask) {
  const ValueId fill = b.constant_scalar("fill", mask == Mask::kWeak ? -3.0F : -1e9F);
  const ValueId never = b.constant_scalar("never", -std::numeric_limits<float>::infinity());
  const ValueId given = mask == Mask::kNone || mask == Mask::kKnownCausal || mask == Mask::kKnown
                            ? kNoValue
                            : b.input("mask", {DType::kBool, {kFlatRows, kFlatRows}});
  switch (mask) {
    case Mask::kNone:
      return scores;
    case Mask::kKnownCausal:
      return b.add("Where", {b.constant("above", lower_triangle(false)), never, scores});
    case Mask::kKnown: {
      Tensor last(DType::kBool, {1, kFlatRows});
      for (int64_t i = 0; i < kFlatRows; ++i) last.values<bool>()[static_cast<size_t>(i)] = i > 2;
      return b.add("Where", {b.constant("last", std::move(last)), never, scores});
    }
    case Mask::kGivenInverse:
      return b.add("Where", {given, scores, fill});
    case Mask::kTwo: {
      const ValueId causal =
          b.add("Where", {b.constant("below", lower_triangle(true)), scores, never});
      return b.add("Add", {causal, b.input("bias", {DType::kF32, {1, kFlatRows}})});
    }
    default:
      return b.add("Where", {given, fill, scores});
  }
}

// `turned`: heads lie side by side in memory, as in rows of a linear layer.
Graph flat_attention(bool turned, bool direct_keys, Mask mask) {
  Graph graph;
  Builder b(graph);
  const auto turn = [&](ValueId x, AttentionInts order) {
    return b.add("Transpose", {x}, {{"perm", std::move(order)}});
  };
  const auto operand = [&](const char* name) {
    if (turned) return b.input(name, {DType::kF32, {kFlatRows, kFlatHeads, kFlatDepth}});
    return b.input(name, {DType::kF32, {kFlatHeads, kFlatRows, kFlatDepth}});
  };
  const ValueId q = turned ? turn(operand("q"), {1, 0, 2}) : operand("q");
  const ValueId k = operand("k");
  const ValueId keys = !turned       ? turn(k, {0, 2, 1})
                       : direct_keys ? turn(k, {1, 2, 0})
                                     : turn(turn(k, {1, 0, 2}), {0, 2, 1});
  const ValueId v = turned ? turn(operand("v"), {1, 0, 2}) : operand("v");
  const ValueId scaled = b.add("Div", {q, b.constant_scalar("root", 2.0F)});
  const ValueId scores = masked(b, b.add("MatMul", {scaled, keys}), mask);
  ValueId y = b.add("MatMul", {b.add("Softmax", {scores}, {{"axis", int64_t{2}}}), v});
  if (turned) y = turn(y, {1, 0, 2});
  graph.set_outputs({y});
  return graph;
}

bool attention_runs(const Graph& graph, std::string_view op) {
  const Executable executable = compile_graph(graph, /*reference=*/false);
  for (const StepInfo& step : executable.steps()) {
    if (step.op == op) return true;
  }
  return false;
}

void expect_same_attention(const Graph& graph) {
  EXPECT_LE(relative_error(run_typed(graph, /*reference=*/false)[0],
                           run_typed(graph, /*reference=*/true)[0]),
            kSumTolerance);
}

TEST(FuseAttention, WithoutABatchAndWithChosenMasks) {
  for (const bool turned : {true, false}) {
    for (const bool direct : {true, false}) {
      for (const Mask mask : {Mask::kNone, Mask::kKnownCausal, Mask::kKnown, Mask::kGiven,
                              Mask::kGivenInverse, Mask::kTwo}) {
        SCOPED_TRACE(fmt::format("{} {} {}", turned, direct, static_cast<int>(mask)));
        const Graph graph = flat_attention(turned, direct, mask);
        EXPECT_TRUE(attention_runs(graph, "Attention"));
        EXPECT_FALSE(attention_runs(graph, "Softmax"));
        EXPECT_FALSE(attention_runs(graph, "Transpose"));
        expect_same_attention(graph);
      }
    }
  }
}

// As torch.export writes keys: heads of the whole batch are made one dimension and parted again.
TEST(FuseAttention, KeysOfFlatHeads) {
  constexpr int64_t kBatch = 2;
  Graph graph;
  Builder b(graph);
  const TensorType type = {DType::kF32, {kBatch, kFlatHeads, kFlatRows, kFlatDepth}};
  const auto reshape = [&](ValueId x, AttentionInts shape) {
    return b.add("Reshape", {x, b.constant_ints("shape", shape)});
  };
  const ValueId flat = reshape(b.input("k", type), {kBatch * kFlatHeads, kFlatRows, kFlatDepth});
  const ValueId turned = b.add("Transpose", {flat}, {{"perm", AttentionInts{0, 2, 1}}});
  const ValueId root = b.constant_scalar("root", 0.7F);
  const ValueId keys =
      b.add("Mul", {reshape(turned, {kBatch, kFlatHeads, kFlatDepth, kFlatRows}), root});
  const ValueId scores = b.add("MatMul", {b.add("Mul", {b.input("q", type), root}), keys});
  graph.set_outputs({b.add("MatMul", {b.add("Softmax", {scores}), b.input("v", type)})});
  EXPECT_TRUE(attention_runs(graph, "Attention"));
  EXPECT_FALSE(attention_runs(graph, "Transpose"));
  expect_same_attention(graph);
}

// A causal mask is not read: keys that no query may see are left out.
// As PyTorch's layers write it: rows of heads first, and the batch of one among the heads.
TEST(FuseAttention, ABatchOfOneAmongTheHeads) {
  for (const bool results_by_rows : {true, false}) {
    Graph graph;
    Builder b(graph);
    const auto operand = [&](const char* name) {
      const ValueId rows = b.input(name, {DType::kF32, {kFlatRows, kFlatHeads, kFlatDepth}});
      const ValueId heads = b.add("Transpose", {rows}, {{"perm", AttentionInts{1, 0, 2}}});
      const AttentionInts shape = {1, kFlatHeads, kFlatRows, kFlatDepth};
      return b.add("Reshape", {heads, b.constant_ints("shape", shape)});
    };
    const ValueId keys = b.add("Transpose", {operand("k")}, {{"perm", AttentionInts{0, 1, 3, 2}}});
    const ValueId shares = b.add("Softmax", {b.add("MatMul", {operand("q"), keys})});
    const ValueId y = b.add("MatMul", {shares, operand("v")});
    const AttentionInts order =
        results_by_rows ? AttentionInts{2, 0, 1, 3} : AttentionInts{0, 2, 1, 3};
    graph.set_outputs({b.add("Transpose", {y}, {{"perm", order}})});
    EXPECT_TRUE(attention_runs(graph, "Attention"));
    EXPECT_FALSE(attention_runs(graph, "Transpose"));
    expect_same_attention(graph);
  }
}

TEST(FuseAttention, ACausalMaskIsAnAttribute) {
  EXPECT_FALSE(attention_runs(flat_attention(true, true, Mask::kKnownCausal), "Where"));
}

// A fill that a large score outweighs is not a mask that hides.
TEST(FuseAttention, WeakFillsStay) {
  const Graph graph = flat_attention(true, true, Mask::kWeak);
  EXPECT_FALSE(attention_runs(graph, "Attention"));
  expect_same_attention(graph);
}

// As exporters write bias and Gelu after a product: they become part of it.
TEST(FuseAttention, GeluThatIsSpelledOutGoesIntoTheProduct) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2, 5, 12}});
  const ValueId product = b.add("MatMul", {x, b.constant("w", random_tensor({12, 20}, 3))});
  const ValueId sum = b.add("Add", {product, b.constant("c", random_tensor({20}, 4))});
  const ValueId erf = b.add("Erf", {b.add("Div", {sum, b.constant_scalar("r", std::sqrt(2.0F))})});
  const ValueId gate = b.add("Add", {erf, b.constant_scalar("one", 1.0F)});
  graph.set_outputs({b.add("Mul", {b.add("Mul", {sum, gate}), b.constant_scalar("h", 0.5F)})});
  EXPECT_TRUE(attention_runs(graph, "FusedGemm"));
  EXPECT_FALSE(attention_runs(graph, "Gelu"));
  expect_same_attention(graph);
}

TEST(DropIdentities, WhatPadsOrDropsNothing) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2, 3, 4, 4}});
  const ValueId dropped = b.add(
      "Dropout", {x, b.constant_scalar("ratio", 0.0F), b.constant("on", Tensor::scalar(true))});
  const ValueId padded = b.add("Pad", {dropped, b.constant_ints("none", AttentionInts(8, 0))});
  graph.set_outputs({b.add("Relu", {padded})});
  EXPECT_EQ(compile_graph(graph, /*reference=*/false).steps().size(), 1U);
  expect_same_attention(graph);
}

}  // namespace
}  // namespace trainyard::runtime
