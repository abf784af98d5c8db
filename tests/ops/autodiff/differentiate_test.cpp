#include "ops/autodiff/differentiate.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/node_view.h"
#include "ir/printer.h"
#include "ops/autodiff/training_mode.h"
#include "support/numeric_gradient.h"

namespace trainyard::testing {
namespace {

using Inputs = std::vector<ValueId>;

std::vector<GradientCase> normalization_and_loss_cases() {
  const auto norm = [](ops::Builder& b, const Inputs& x) {
    const ValueId mean = b.parameter("mean", {3}, init_constant(0), DType::kF64);
    const ValueId variance = b.parameter("variance", {3}, init_constant(2), DType::kF64);
    return b.add("BatchNormalization", {x[0], x[1], x[2], mean, variance});
  };
  const auto norm_training = [](const Attributes& attributes) {
    return [=](ops::Builder& b, const Inputs& x) {
      const ValueId mean = b.parameter("mean", {3}, init_constant(0), DType::kF64);
      const ValueId variance = b.parameter("variance", {3}, init_constant(1), DType::kF64);
      std::vector<ValueId> inputs = {x[0], x[1], x[2], mean, variance};
      if (x.size() > 3) inputs.push_back(x[3]);
      return b.add_multi("BatchNormTraining", inputs, 5, attributes)[0];
    };
  };
  const Attributes relu = {{"activation", std::string("Relu")}};
  const Attributes fixed = {{"fixed_statistics", int64_t{1}}};
  const Attributes fixed_relu = {{"activation", std::string("Relu")},
                                 {"fixed_statistics", int64_t{1}}};
  const Attributes bounds = {
      {"activation", std::string("Clip")}, {"activation_alpha", -0.25F}, {"activation_beta", 0.5F}};
  const auto loss = [](const std::string& op, const Attributes& attributes, size_t outputs) {
    return [=](ops::Builder& b, const Inputs& x) {
      const std::vector<int64_t> labels = {2, 0, 1, 1, -1, 0};
      const std::vector<double> weights = {0.5, 2.0, 1.0};
      Attributes all = attributes;
      all["ignore_index"] = int64_t{-1};
      const ValueId targets = b.constant("targets", Tensor::of<int64_t>({2, 3}, labels));
      const ValueId weight = b.constant("weights", Tensor::of<double>({3}, weights));
      return b.add_multi(op, {x[0], targets, weight}, outputs, all).back();
    };
  };
  const auto reduced_by = [](const char* how) {
    return Attributes{{"reduction", std::string(how)}};
  };
  return {
      {"nll mean", {{2, 3, 3}}, loss("NegativeLogLikelihoodLoss", {}, 1)},
      {"nll none", {{2, 3, 3}}, loss("NegativeLogLikelihoodLoss", reduced_by("none"), 1)},
      {"cross entropy mean", {{2, 3, 3}}, loss("SoftmaxCrossEntropyLoss", {}, 1)},
      {"cross entropy sum", {{2, 3, 3}}, loss("SoftmaxCrossEntropyLoss", reduced_by("sum"), 1)},
      {"cross entropy none", {{2, 3, 3}}, loss("SoftmaxCrossEntropyLoss", reduced_by("none"), 1)},
      {"cross entropy log softmax", {{2, 3, 3}}, loss("SoftmaxCrossEntropyLoss", {}, 2)},
      {"batch norm", {{2, 3, 4}, {3}, {3}}, norm},
      {"batch norm in training", {{2, 3, 4}, {3}, {3}}, norm_training({})},
      {"batch norm and relu", {{2, 3, 4}, {3}, {3}}, norm_training(relu)},
      {"batch norm and clip", {{2, 3, 4}, {3}, {3}}, norm_training(bounds)},
      {"batch norm and sum", {{2, 3, 4}, {3}, {3}, {2, 3, 4}}, norm_training({})},
      {"batch norm and sum and relu", {{2, 3, 4}, {3}, {3}, {2, 3, 4}}, norm_training(relu)},
      {"batch norm with fixed statistics", {{2, 3, 4}, {3}, {3}}, norm_training(fixed)},
      {"batch norm fixed and sum and relu",
       {{2, 3, 4}, {3}, {3}, {2, 3, 4}},
       norm_training(fixed_relu)},
  };
}

std::vector<GradientCase> cases() {
  const Attributes window = {
      {"kernel_shape", ints({3, 3})}, {"pads", ints({1, 1, 1, 1})}, {"strides", ints({2, 2})}};
  const auto slice = [](ops::Builder& b, const Inputs& x) {
    return b.add("Slice", {x[0], b.constant_ints("s", std::array<int64_t, 2>{0, 3}),
                           b.constant_ints("e", std::array<int64_t, 2>{5, -9}),
                           b.constant_ints("a", std::array<int64_t, 2>{0, 1}),
                           b.constant_ints("t", std::array<int64_t, 2>{2, -1})});
  };
  const auto pad = [](ops::Builder& b, const Inputs& x) {
    return b.add("Pad", {x[0], b.constant_ints("p", std::array<int64_t, 4>{1, 0, 2, 1})});
  };
  const auto clip = [](ops::Builder& b, const Inputs& x) {
    return b.add("Clip", {x[0], b.constant("low", Tensor::scalar(-0.5)),
                          b.constant("high", Tensor::scalar(0.25))});
  };
  const auto reshape = [](ops::Builder& b, const Inputs& x) {
    return b.add("Reshape", {x[0], b.constant_ints("to", std::array<int64_t, 2>{3, -1})});
  };
  const auto dropout = [](ops::Builder& b, const Inputs& x) {
    return b.add("DropoutTraining", {x[0], b.constant("step", Tensor::scalar(int64_t{3}))},
                 {{"ratio", 0.4F}, {"seed", int64_t{5}}});
  };
  // Used twice, so that two parts of a gradient are summed.
  const auto twice = [](ops::Builder& b, const Inputs& x) {
    return b.add("Mul", {b.add("Tanh", {x[0]}), b.add("Sigmoid", {x[0]})});
  };
  return {
      {"add", {{2, 3}, {3}}, node("Add")},
      {"sub", {{2, 1}, {2, 3}}, node("Sub")},
      {"mul", {{2, 3}, {}}, node("Mul")},
      {"div", {{2, 3}, {2, 1}}, node("Div"), 0.5, 2.0},
      {"pow", {{2, 3}, {3}}, node("Pow"), 0.5, 2.0},
      {"abs", {{7}}, node("Abs"), 0.1, 1.0},
      {"atan", {{7}}, node("Atan")},
      {"cos", {{7}}, node("Cos")},
      {"elu", {{7}}, node("Elu", {{"alpha", 0.7F}})},
      {"erf", {{7}}, node("Erf")},
      {"exp", {{7}}, node("Exp")},
      {"leaky relu", {{7}}, node("LeakyRelu", {{"alpha", 0.25F}})},
      {"log", {{7}}, node("Log"), 0.5, 2.0},
      {"neg", {{7}}, node("Neg")},
      {"reciprocal", {{7}}, node("Reciprocal"), 0.5, 2.0},
      {"relu", {{7}}, node("Relu")},
      {"sigmoid", {{7}}, node("Sigmoid")},
      {"sin", {{7}}, node("Sin")},
      {"softplus", {{7}}, node("Softplus")},
      {"sqrt", {{7}}, node("Sqrt"), 0.5, 2.0},
      {"tanh", {{7}}, node("Tanh")},
      {"twice", {{7}}, twice},
      {"clip", {{9}}, clip},
      {"softmax", {{2, 3, 4}}, node("Softmax", {{"axis", int64_t{1}}})},
      {"log softmax", {{2, 5}}, node("LogSoftmax")},
      {"concat", {{2, 1}, {2, 3}}, node("Concat", {{"axis", int64_t{1}}})},
      {"flatten", {{2, 3, 2}}, node("Flatten")},
      {"reshape", {{2, 3, 2}}, reshape},
      {"transpose", {{2, 3, 4}}, node("Transpose", {{"perm", ints({1, 2, 0})}})},
      {"slice", {{5, 4}}, slice},
      {"pad", {{2, 3}}, pad},
      {"gemm", {{2, 3}, {3, 4}, {4}}, node("Gemm", {{"alpha", 0.5F}, {"beta", 2.0F}})},
      {"gemm transposed",
       {{3, 2}, {4, 3}},
       node("Gemm", {{"transA", int64_t{1}}, {"transB", int64_t{1}}})},
      {"matmul", {{2, 2, 3}, {3, 4}}, node("MatMul")},
      {"matmul with a vector", {{3}, {2, 3, 2}}, node("MatMul")},
      {"conv",
       {{2, 3, 5, 4}, {4, 3, 3, 3}, {4}},
       node("Conv", {{"pads", ints({1, 1, 1, 1})}, {"strides", ints({2, 1})}})},
      {"conv in groups",
       {{1, 4, 5, 5}, {4, 2, 2, 2}},
       node("Conv", {{"group", int64_t{2}}, {"dilations", ints({2, 1})}})},
      {"max pool", {{1, 2, 5, 5}}, node("MaxPool", window)},
      {"average pool", {{1, 2, 5, 5}}, node("AveragePool", window)},
      {"global max pool", {{2, 3, 4}}, node("GlobalMaxPool")},
      {"global average pool", {{2, 3, 4}}, node("GlobalAveragePool")},
      {"lrn", {{1, 5, 2, 2}}, node("LRN", {{"size", int64_t{3}}, {"alpha", 0.5F}})},
      {"reduce mean",
       {{2, 3, 4}},
       node("ReduceMean", {{"axes", ints({0, 2})}, {"keepdims", int64_t{0}}})},
      {"dropout", {{9}}, dropout},
  };
}

class GradientTest : public ::testing::TestWithParam<GradientCase> {};

TEST_P(GradientTest, EqualsTheCentralDifference) {
  check_gradient(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Rule, GradientTest, ::testing::ValuesIn(cases()), name_of);
INSTANTIATE_TEST_SUITE_P(NormalizationAndLoss, GradientTest,
                         ::testing::ValuesIn(normalization_and_loss_cases()), name_of);

TEST(Differentiate, AFrozenParameterCostsNothing) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {1, 3, 8, 8}});
  const ValueId frozen = b.parameter("frozen", {4, 3, 3, 3}, init_constant(1));
  const ValueId trained = b.parameter("trained", {4, 4, 3, 3}, init_constant(1));
  const ValueId y = b.add("Conv", {b.add("Conv", {x, frozen}), trained});
  const ValueId loss = b.add("ReduceSum", {y}, {{"keepdims", int64_t{0}}});
  const std::vector<ValueId> gradients = autodiff::differentiate(graph, loss, {&trained, 1});
  ASSERT_TRUE(gradients[0].valid());
  const std::string text = print_graph(graph);
  EXPECT_EQ(text.find("ConvGradInput"), std::string::npos) << text;
  EXPECT_NE(text.find("ConvGradWeight"), std::string::npos) << text;
}

TEST(Differentiate, WhatTheLossDoesNotDependOnHasNoGradient) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {3}});
  const ValueId z = b.input("z", {DType::kF32, {3}});
  const ValueId loss = b.add("ReduceSum", {x}, {{"keepdims", int64_t{0}}});
  EXPECT_FALSE(autodiff::differentiate(graph, loss, {&z, 1})[0].valid());
}

TEST(Differentiate, NamesANodeThatHasNoGradient) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {1, 2, 2}});
  const ValueId loss = b.add("Det", {x}, {}, "volume");
  try {
    autodiff::differentiate(graph, loss, {&x, 1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "node 'volume' (Det) is not differentiable");
  }
}

TEST(TrainingMode, NormalizationUpdatesItsStatisticsAndDropoutDrops) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {4, 2, 3}});
  std::vector<ValueId> inputs = {x};
  for (const char* name : {"scale", "bias", "mean", "variance"}) {
    inputs.push_back(b.parameter(name, {2}, init_constant(1)));
  }
  graph.set_outputs(
      {b.add("Dropout", {b.add("BatchNormalization", inputs, {}, "bn")}, {}, "drop")});
  const std::vector<StateUpdate> updates = autodiff::to_training_mode(graph).statistics;
  ASSERT_EQ(updates.size(), 2U);
  EXPECT_EQ(updates[0].from, inputs[3]);
  EXPECT_EQ(updates[1].from, inputs[4]);
  EXPECT_TRUE(graph.find_value("step").valid());
  EXPECT_TRUE(graph.find_node("bn.training").valid());
  EXPECT_FALSE(graph.find_node("bn").valid());
  EXPECT_EQ(graph.node(graph.value(graph.outputs()[0]).producer).op, "DropoutTraining");
}

// Of two normalizations, the one with a trained parameter is made fit for gradients.
TEST(TrainingMode, FixedStatisticsStayAndWhatIsFrozenCanBeFolded) {
  Graph graph;
  ops::Builder b(graph);
  ValueId x = b.input("x", {DType::kF32, {4, 2, 3}});
  std::vector<ValueId> trained;
  for (const std::string norm : {"frozen", "learns"}) {
    std::vector<ValueId> inputs = {x};
    for (const char* name : {".scale", ".bias", ".mean", ".variance"}) {
      inputs.push_back(b.parameter(norm + name, {2}, init_constant(1)));
    }
    if (norm == "learns") trained.push_back(inputs[2]);
    x = b.add("BatchNormalization", inputs, {}, norm);
  }
  graph.set_outputs({x});
  autodiff::to_training_mode_with_fixed_statistics(graph, trained);
  EXPECT_EQ(graph.node(graph.find_node("frozen")).op, "BatchNormalization");
  const NodeId learns = graph.find_node("learns.training");
  ASSERT_TRUE(learns.valid());
  EXPECT_EQ(NodeView(graph, learns).attr_int("fixed_statistics", 0), 1);
}

}  // namespace
}  // namespace trainyard::testing
