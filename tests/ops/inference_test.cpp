#include "ops/inference.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/builder.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

TEST(Inference, ConvOutputFollowsStrideAndPadding) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {1, 3, 224, 224}});
  const ValueId w = b.parameter("w", {64, 3, 7, 7}, init_he_normal(49));
  const ValueId y =
      b.add("Conv", {x, w},
            {{"strides", std::vector<int64_t>{2, 2}}, {"pads", std::vector<int64_t>{3, 3, 3, 3}}});
  EXPECT_EQ(b.shape(y), (Shape{1, 64, 112, 112}));
  EXPECT_EQ(node_cost({graph, graph.value(y).producer}).macs, int64_t{64} * 112 * 112 * 147);
}

TEST(Inference, ErrorsNameNodeOperatorAndShapes) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2, 3}});
  const ValueId w = b.parameter("w", {4, 5}, init_constant(1));
  try {
    b.add("MatMul", {x, w}, {}, "fc");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "node 'fc' (MatMul): inner sizes of 2x3 and 4x5 differ");
  }
}

TEST(Inference, ShapeArithmeticReachesReshape) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2, 3, 4}});
  const ValueId batch =
      b.add("Gather", {b.add("Shape", {x}), b.constant_ints("zero", std::array{int64_t{0}})});
  const ValueId rest = b.constant_ints("rest", std::array{int64_t{-1}});
  const ValueId y = b.add("Reshape", {x, b.add("Concat", {batch, rest}, {{"axis", int64_t{0}}})});
  EXPECT_EQ(b.shape(y), (Shape{2, 12}));
}

TEST(Verifier, FindsATypeThatDoesNotMatch) {
  Graph graph;
  Builder b(graph);
  const ValueId y = b.add("Relu", {b.input("x", {DType::kF32, {2}})});
  graph.set_outputs({y});
  EXPECT_TRUE(verify_graph(graph).empty());
  graph.mutable_value(y).type.shape = Shape{3};
  ASSERT_EQ(verify_graph(graph).size(), 1U);
  EXPECT_EQ(verify_graph(graph)[0],
            "node 'relu' (Relu): output 0 is declared f32[3] but computes f32[2]");
}

}  // namespace
}  // namespace trainyard::ops
