// Networks of f16 and bf16 run on the kernels of f32, with their own types at the borders.
#include <gtest/gtest.h>

#include "engine/graph_inputs.h"
#include "ops/builder.h"
#include "ops/layout/dtype_code.h"

namespace trainyard::runtime {
namespace {

using ops::Builder;
using HalfInts = std::vector<int64_t>;

// What rounding each result of the reference to 11 or 8 bits may cost in a few layers.
double tolerance_of(DType dtype) {
  return dtype == DType::kF16 ? 2e-3 : 2e-2;
}

ValueId half_constant(Builder& b, const char* name, const Shape& shape, DType dtype) {
  return b.constant(name, cast(random_tensor(shape, 7), dtype));
}

Graph half_network(DType dtype) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {dtype, {1, 8, 9, 9}});
  ValueId y = b.add("Conv", {x, half_constant(b, "w", {16, 8, 3, 3}, dtype)},
                    {{"pads", HalfInts{1, 1, 1, 1}}});
  y = b.add("Relu", {y});
  y = b.add("GlobalAveragePool", {y});
  y = b.add("MatMul", {b.add("Flatten", {y}), half_constant(b, "v", {16, 5}, dtype)});
  graph.set_outputs({b.add("Softmax", {y})});
  return graph;
}

TEST(Halves, ANetworkUsesTheKernelsOfFloats) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    SCOPED_TRACE(dtype_name(dtype));
    const Graph graph = half_network(dtype);
    EXPECT_TRUE(reference_operators(graph).empty());
    const Tensor fast = std::move(run_typed(graph, /*reference=*/false)[0]);
    EXPECT_EQ(fast.dtype(), dtype);
    EXPECT_LE(relative_error(fast, run_typed(graph, /*reference=*/true)[0]), tolerance_of(dtype));
  }
}

// Masks are written as the smallest half, which f32 must not make finite in another way.
TEST(Halves, MixedFilesCastWhereTheySay) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2, 6}});
  const auto to = [&](ValueId value, DType dtype) {
    return b.add("Cast", {value}, {{"to", ops::dtype_code(dtype)}});
  };
  const ValueId half = to(x, DType::kF16);
  const ValueId product = b.add("MatMul", {half, half_constant(b, "w", {6, 4}, DType::kF16)});
  graph.set_outputs({to(b.add("Relu", {product}), DType::kF32), product});
  const std::vector<Tensor> fast = run_typed(graph, /*reference=*/false);
  const std::vector<Tensor> reference = run_typed(graph, /*reference=*/true);
  EXPECT_EQ(fast[1].dtype(), DType::kF16);
  for (size_t i = 0; i < fast.size(); ++i) {
    EXPECT_LE(relative_error(fast[i], reference[i]), tolerance_of(DType::kF16));
  }
}

TEST(Halves, RoundingThatIsUndoneAtOnceStays) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {64}});
  const ValueId rounded = b.add("Cast", {x}, {{"to", ops::dtype_code(DType::kF16)}});
  graph.set_outputs({b.add("Cast", {rounded}, {{"to", ops::dtype_code(DType::kF32)}})});
  EXPECT_EQ(relative_error(run_typed(graph, /*reference=*/false)[0], run_typed(graph, true)[0]), 0);
}

// A body has the types of its file; what is around it gives and takes them.
TEST(Halves, BranchesKeepTheirTypes) {
  Graph graph;
  Builder b(graph);
  const ValueId condition = b.input("c", {DType::kBool, {}});
  const ValueId x = b.input("x", {DType::kF16, {3, 4}});
  const ValueId twice = b.add("Add", {x, x});
  const auto body = [](std::string_view op) {
    auto graph_of_body = std::make_shared<Graph>();
    Builder inside(*graph_of_body);
    const ValueId y = inside.input("y", {DType::kF16, {3, 4}});
    graph_of_body->set_outputs({inside.add(op, {y})});
    return std::shared_ptr<const Graph>(graph_of_body);
  };
  const ValueId chosen = b.add("If", {condition, twice, twice},
                               {{"then_branch", body("Relu")}, {"else_branch", body("Neg")}});
  graph.set_outputs({b.add("Add", {chosen, x})});
  EXPECT_LE(relative_error(run_typed(graph, /*reference=*/false)[0], run_typed(graph, true)[0]),
            tolerance_of(DType::kF16));
}

}  // namespace
}  // namespace trainyard::runtime
