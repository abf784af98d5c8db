// Layer and root-mean-square normalization in the ways that files write them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/graph_inputs.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

using ops::Builder;
using NormInts = std::vector<int64_t>;

struct NormForm {
  bool centered = true;
  const char* square = "Pow";  // "Mul"
  const char* root = "Div";    // "Reciprocal", "one over", "power" (of minus a half)
  bool twice = false;          // the mean is taken off once more for the quotient
  bool scaled = true;
  bool shifted = true;
  bool keeps_root = false;  // which is a result too
};

ValueId norm_number(Builder& b, float value) {
  return b.constant_scalar(b.graph().unique_name("n"), value);
}

Graph norm_graph(const NormForm& form, const NormInts& axes = {-1}) {
  Graph graph;
  Builder b(graph);
  const Shape shape{2, 5, 24};
  const ValueId x = b.input("x", {DType::kF32, shape});
  const auto mean = [&](ValueId value) { return b.add("ReduceMean", {value}, {{"axes", axes}}); };
  const auto centered = [&] { return b.add("Sub", {x, mean(x)}); };
  const ValueId d = form.centered ? centered() : x;
  const std::string_view square = form.square;
  const ValueId squares =
      square == "Pow" ? b.add("Pow", {d, norm_number(b, 2)}) : b.add("Mul", {d, d});
  const ValueId variance = b.add("Add", {mean(squares), norm_number(b, 1e-3F)});
  const ValueId divided = form.twice ? centered() : d;
  const std::string_view root = form.root;
  ValueId deviation;
  ValueId y;
  if (root == "power") {
    y = b.add("Mul", {divided, b.add("Pow", {variance, norm_number(b, -0.5F)})});
  } else {
    deviation = b.add("Sqrt", {variance});
    if (root == "Div") y = b.add("Div", {divided, deviation});
    if (root == "Reciprocal") y = b.add("Mul", {divided, b.add("Reciprocal", {deviation})});
    if (root == "one over")
      y = b.add("Mul", {b.add("Div", {norm_number(b, 1), deviation}), divided});
  }
  if (form.scaled) y = b.add("Mul", {b.constant("scale", random_tensor({24}, 1)), y});
  if (form.shifted) y = b.add("Add", {y, b.constant("shift", random_tensor({24}, 2))});
  std::vector<ValueId> outputs = {y};
  if (form.keeps_root) outputs.push_back(deviation);
  graph.set_outputs(outputs);
  return graph;
}

bool norm_runs(const Graph& graph, std::string_view op) {
  const Executable executable = compile_graph(graph, /*reference=*/false);
  const auto& steps = executable.steps();
  return std::any_of(steps.begin(), steps.end(),
                     [&](const StepInfo& step) { return step.op == op; });
}

void expect_reference_norm(const Graph& graph) {
  const std::vector<Tensor> fast = run_graph(graph, /*reference=*/false);
  const std::vector<Tensor> reference = run_graph(graph, /*reference=*/true);
  for (size_t i = 0; i < fast.size(); ++i) {
    EXPECT_LE(relative_error(fast[i], reference[i]), kSumTolerance);
  }
}

TEST(FuseNorm, AllWaysToWriteIt) {
  for (const bool centered : {true, false}) {
    for (const char* square : {"Pow", "Mul"}) {
      for (const char* root : {"Div", "Reciprocal", "one over", "power"}) {
        for (const bool scaled : {true, false}) {
          const NormForm form{.centered = centered,
                              .square = square,
                              .root = root,
                              .twice = centered && !scaled,
                              .scaled = scaled,
                              .shifted = centered && scaled};
          SCOPED_TRACE(fmt::format("{} {} {} {}", centered, square, root, scaled));
          const Graph graph = norm_graph(form);
          EXPECT_TRUE(norm_runs(graph, centered ? "LayerNormalization" : "RMSNormalization"));
          EXPECT_EQ(compile_graph(graph, /*reference=*/false).steps().size(), 1U);
          expect_reference_norm(graph);
        }
      }
    }
  }
}

TEST(FuseNorm, SeveralDimensions) {
  const Graph graph = norm_graph({.scaled = false, .shifted = false}, {1, 2});
  EXPECT_TRUE(norm_runs(graph, "LayerNormalization"));
  expect_reference_norm(graph);
}

TEST(FuseNorm, OtherThingsStay) {
  const Graph middle = norm_graph({.scaled = false, .shifted = false}, {1});
  EXPECT_FALSE(norm_runs(middle, "LayerNormalization"));
  expect_reference_norm(middle);
  const Graph root = norm_graph({.keeps_root = true});
  EXPECT_FALSE(norm_runs(root, "LayerNormalization"));
  expect_reference_norm(root);
}

// 0: HardSigmoid; 1: the product, then a sixth; 2: a sixth, then the product.
TEST(FuseHardSwish, AllWaysToWriteIt) {
  for (const int form : {0, 1, 2}) {
    SCOPED_TRACE(form);
    Graph graph;
    Builder b(graph);
    const ValueId x = b.add("Mul", {b.input("x", {DType::kF32, {2, 8, 5, 5}}), norm_number(b, 6)});
    ValueId y;
    if (form == 0) {
      y = b.add("Mul", {x, b.add("HardSigmoid", {x}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}})});
    } else {
      const ValueId sum = b.add("Add", {x, norm_number(b, 3)});
      const ValueId clip = b.add("Clip", {sum, norm_number(b, 0), norm_number(b, 6)});
      y = form == 1 ? b.add("Div", {b.add("Mul", {x, clip}), norm_number(b, 6)})
                    : b.add("Mul", {b.add("Mul", {clip, norm_number(b, 1.0F / 6)}), x});
    }
    graph.set_outputs({y});
    EXPECT_TRUE(norm_runs(graph, "HardSwish"));
    EXPECT_EQ(compile_graph(graph, /*reference=*/false).steps().size(), 2U);
    expect_reference_norm(graph);
  }
}

// Scalings do not take activations that their kernel does not have.
TEST(ScaleShift, StaysFastBeforeActivations) {
  for (const char* op : {"HardSwish", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "Softplus"}) {
    SCOPED_TRACE(op);
    Graph graph;
    Builder b(graph);
    const ValueId x = b.input("x", {DType::kF32, {1, 6, 4, 4}});
    const ValueId scaled = b.add("Mul", {x, b.constant("s", random_tensor({6, 1, 1}, 1))});
    const ValueId sum = b.add("Add", {scaled, b.constant("t", random_tensor({6, 1, 1}, 2))});
    graph.set_outputs({b.add(op, {sum})});
    EXPECT_TRUE(reference_operators(graph).empty());
    expect_reference_norm(graph);
  }
}

TEST(InstanceNorm, IsFast) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2, 5, 7, 9}});
  graph.set_outputs({b.add("InstanceNormalization", {x, b.constant("s", random_tensor({5}, 1)),
                                                     b.constant("b", random_tensor({5}, 2))})});
  EXPECT_TRUE(reference_operators(graph).empty());
  expect_reference_norm(graph);
}

TEST(ExpandPow, ByNumbers) {
  for (const float exponent : {1.0F, 2.0F, 3.0F, 0.5F, -0.5F}) {
    SCOPED_TRACE(exponent);
    Graph graph;
    Builder b(graph);
    const ValueId x = b.add("Abs", {b.input("x", {DType::kF32, {3, 40}})});
    graph.set_outputs({b.add("Pow", {x, norm_number(b, exponent)})});
    EXPECT_FALSE(norm_runs(graph, "Pow"));
    expect_reference_norm(graph);
  }
}

}  // namespace
}  // namespace trainyard::runtime
