// Sequences and optional values become lists of tensors.
#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/printer.h"
#include "models/onnx/fixture.h"
#include "models/onnx/import.h"

namespace trainyard::onnx_io {
namespace {

using Texts = std::vector<std::string>;

void add_sequence_input(onnx::ModelProto& model, const std::string& name) {
  auto* info = model.mutable_graph()->add_input();
  info->set_name(name);
  auto* type = info->mutable_type()->mutable_sequence_type()->mutable_elem_type();
  type->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
}

void add_sequence_output(onnx::ModelProto& model, const std::string& name) {
  auto* info = model.mutable_graph()->add_output();
  info->set_name(name);
  auto* type = info->mutable_type()->mutable_sequence_type()->mutable_elem_type();
  type->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
}

void add_scalar(onnx::ModelProto& model, const std::string& name, int64_t value) {
  add_ints(model, name, {value});
}

Graph import_with(const onnx::ModelProto& model, const ImportOptions& options = {}) {
  return import_bytes(model.SerializeAsString(), "test.onnx", options);
}

// The elements of input 's'.
ImportOptions with_list(std::vector<Shape> shapes) {
  ImportOptions options;
  options.lists["s"] = std::move(shapes);
  return options;
}

Texts names_of(const Graph& graph, std::span<const ValueId> ids) {
  Texts names;
  for (const ValueId id : ids) names.push_back(graph.value(id).name);
  return names;
}

std::string error_with(const onnx::ModelProto& model, const ImportOptions& options = {}) {
  try {
    import_with(model, options);
  } catch (const Error& problem) {
    return problem.what();
  }
  return "";
}

// Three tensors in a sequence; the one at `position` is the output.
onnx::ModelProto at_model(int64_t position) {
  onnx::ModelProto model = empty_model();
  for (const char* name : {"a", "b", "c"}) add_input(model, name, {"2"});
  add_scalar(model, "at", position);
  add_node(model, "SequenceConstruct", {"a", "b"}, {"two"});
  add_node(model, "SequenceInsert", {"two", "c"}, {"three"});
  add_node(model, "SequenceAt", {"three", "at"}, {"y"}, "pick");
  add_output(model, "y", {"2"});
  return model;
}

TEST(Sequences, AnElementIsTheTensorItself) {
  const Graph graph = import_with(at_model(-1));
  const Node& node = graph.node(graph.value(graph.outputs()[0]).producer);
  EXPECT_EQ(node.op, "Identity");
  EXPECT_EQ(graph.value(node.inputs[0]).name, "c");
}

// Counted from the last element, not from the place behind it.
TEST(Sequences, InsertionAtMinusOneIsBeforeTheLast) {
  onnx::ModelProto model = at_model(1);
  add_scalar(model, "before_last", -1);
  model.mutable_graph()->mutable_node(1)->add_input("before_last");
  const Graph graph = import_with(model);
  const Node& node = graph.node(graph.value(graph.outputs()[0]).producer);
  EXPECT_EQ(graph.value(node.inputs[0]).name, "c");
}

TEST(Sequences, AnInputOfKnownShapeIsCutIntoItsRows) {
  onnx::ModelProto model = empty_model();
  add_input(model, "x", {"3", "2"});
  add_scalar(model, "at", 2);
  onnx::NodeProto* split = add_node(model, "SplitToSequence", {"x"}, {"rows"});
  set_int(split, "keepdims", 0);
  add_node(model, "SequenceAt", {"rows", "at"}, {"y"});
  add_output(model, "y", {"2"});
  const Graph graph = import_with(model);
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (Shape{2}));
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_NE(error_with(model).find("how many parts there are"), std::string::npos)
      << error_with(model);
}

// The sum of two parts is above the largest integer.
TEST(Sequences, PartsOfAnyLengthAreCounted) {
  onnx::ModelProto model = empty_model();
  add_input(model, "x", {"6917529027641081857"});
  add_scalar(model, "part", int64_t{1} << 62);
  model.mutable_graph()->mutable_initializer(0)->clear_dims();
  add_node(model, "SplitToSequence", {"x", "part"}, {"parts"});
  add_sequence_output(model, "parts");
  const std::string problem = error_with(model);
  EXPECT_NE(problem.find("input 'x'"), std::string::npos) << problem;
  EXPECT_NE(problem.find("too many bytes"), std::string::npos) << problem;
}

TEST(Sequences, SizesOfPartsAreOneNumberOrAList) {
  onnx::ModelProto model = empty_model();
  add_input(model, "x", {"4"});
  add_ints(model, "part", {});
  model.mutable_graph()->mutable_initializer(0)->add_dims(3);
  add_node(model, "SplitToSequence", {"x", "part"}, {"parts"});
  add_sequence_output(model, "parts");
  const std::string problem = error_with(model);
  EXPECT_NE(problem.find("the sizes of its parts have shape 0x3, expected one size or a list"),
            std::string::npos)
      << problem;
}

TEST(Sequences, PositionsOutsideAreRefused) {
  EXPECT_NE(error_with(at_model(3)).find("position 3 is outside of 3 elements"), std::string::npos)
      << error_with(at_model(3));
}

TEST(Sequences, PositionsThatOnlyTheRunKnowsAreRefused) {
  onnx::ModelProto model = at_model(0);
  model.mutable_graph()->clear_initializer();
  add_input(model, "at", {"1"}, onnx::TensorProto::INT64);
  EXPECT_NE(error_with(model).find("only known at run time"), std::string::npos)
      << error_with(model);
}

TEST(Sequences, PositionsMayBeToldWithTheInputs) {
  onnx::ModelProto model = at_model(0);
  model.mutable_graph()->clear_initializer();
  add_input(model, "at", {"1"}, onnx::TensorProto::INT64);
  ImportOptions options;
  options.values["at"] = std::make_shared<const Tensor>(Tensor::of_ints(std::vector<int64_t>{1}));
  const Graph graph = import_with(model, options);
  EXPECT_EQ(names_of(graph, graph.inputs()), (Texts{"a", "b", "c", "at"}));
  const Node& node = graph.node(graph.value(graph.outputs()[0]).producer);
  EXPECT_EQ(graph.value(node.inputs[0]).name, "b");
}

TEST(Sequences, InputsAndOutputsAreTheirElements) {
  onnx::ModelProto model = empty_model();
  add_sequence_input(model, "s");
  add_input(model, "x", {"2"});
  add_node(model, "SequenceInsert", {"s", "x"}, {"t"});
  add_sequence_output(model, "t");
  EXPECT_NE(error_with(model).find("input 's' is a sequence"), std::string::npos)
      << error_with(model);
  const Graph graph = import_with(model, with_list({{2}, {3, 1}}));
  EXPECT_EQ(names_of(graph, graph.inputs()), (Texts{"s[0]", "s[1]", "x"}));
  EXPECT_EQ(names_of(graph, graph.outputs()), (Texts{"t[0]", "t[1]", "t[2]"}));
  EXPECT_EQ(graph.value(graph.outputs()[1]).type.shape, (Shape{3, 1}));
}

onnx::GraphProto* sequence_body(onnx::NodeProto* node, const Texts& inputs) {
  auto* attribute = node->add_attribute();
  attribute->set_name("body");
  attribute->set_type(onnx::AttributeProto::GRAPH);
  for (const std::string& input : inputs) attribute->mutable_g()->add_input()->set_name(input);
  return attribute->mutable_g();
}

void add_sequence_body_node(onnx::GraphProto* body, const std::string& op, const Texts& inputs,
                            const std::string& output) {
  auto* node = body->add_node();
  node->set_op_type(op);
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(output);
}

TEST(Sequences, MapIsUnrolled) {
  onnx::ModelProto model = empty_model();
  add_sequence_input(model, "s");
  add_input(model, "x", {"2"});
  onnx::GraphProto* body =
      sequence_body(add_node(model, "SequenceMap", {"s", "x"}, {"t"}), {"one", "same"});
  add_sequence_body_node(body, "Add", {"one", "same"}, "sum");
  body->add_output()->set_name("sum");
  add_sequence_output(model, "t");
  const Graph graph = import_with(model, with_list({{2}, {2}}));
  int sums = 0;
  for (const NodeId id : graph.node_ids()) sums += graph.node(id).op == "Add" ? 1 : 0;
  EXPECT_EQ(sums, 2);
  EXPECT_EQ(graph.outputs().size(), 2U);
}

// A loop of `rounds` that appends x to a sequence.
onnx::ModelProto growing_loop(int64_t rounds) {
  onnx::ModelProto model = empty_model();
  add_input(model, "x", {"2"});
  add_scalar(model, "rounds", rounds);
  add_node(model, "SequenceEmpty", {}, {"none"});
  onnx::GraphProto* body = sequence_body(add_node(model, "Loop", {"rounds", "", "none"}, {"t"}),
                                         {"round", "go", "list"});
  add_sequence_body_node(body, "Identity", {"go"}, "on");
  add_sequence_body_node(body, "SequenceInsert", {"list", "x"}, "longer");
  body->add_output()->set_name("on");
  body->add_output()->set_name("longer");
  add_sequence_output(model, "t");
  return model;
}

TEST(Sequences, LoopsThatCarryThemAreUnrolledWithinLimits) {
  EXPECT_EQ(import_with(growing_loop(5)).outputs().size(), 5U);
  EXPECT_NE(error_with(growing_loop(0)).find("no outputs"), std::string::npos);
  const std::string problem = error_with(growing_loop(int64_t{1} << 40));
  EXPECT_NE(problem.find("up to 1000 are unrolled"), std::string::npos) << problem;
}

// Its only input is a sequence and a number at once, as a file may name two values alike.
TEST(Sequences, ALoopWithoutAConditionIsRefused) {
  onnx::ModelProto model = growing_loop(5);
  model.mutable_graph()->mutable_node(0)->set_output(0, "rounds");
  model.mutable_graph()->mutable_node(1)->clear_input();
  model.mutable_graph()->mutable_node(1)->add_input("rounds");
  const std::string problem = error_with(model);
  EXPECT_NE(problem.find("it has 1 inputs, expected at least 2"), std::string::npos) << problem;
}

// A plain loop within each round, whose body has 200 nodes.
TEST(Sequences, TheLimitCountsTheNodesOfAllBodies) {
  onnx::ModelProto model = growing_loop(1000);
  onnx::GraphProto* round =
      model.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g();
  auto* loop = round->add_node();
  loop->set_op_type("Loop");
  for (const char* input : {"rounds", "", "x"}) loop->add_input(input);
  loop->add_output("z");
  onnx::GraphProto* body = sequence_body(loop, {"i", "go_on", "v0"});
  add_sequence_body_node(body, "Identity", {"go_on"}, "still");
  for (int i = 0; i < 200; ++i) {
    add_sequence_body_node(body, "Relu", {"v" + std::to_string(i)}, "v" + std::to_string(i + 1));
  }
  body->add_output()->set_name("still");
  body->add_output()->set_name("v200");
  const std::string problem = error_with(model);
  EXPECT_NE(problem.find("its sequences make more than 100000 nodes"), std::string::npos)
      << problem;
}

TEST(Sequences, OtherOperatorsRefuseThem) {
  onnx::ModelProto model = empty_model();
  add_input(model, "x", {"2"});
  add_node(model, "SequenceConstruct", {"x"}, {"s"});
  add_node(model, "Relu", {"s"}, {"y"}, "act");
  add_output(model, "y", {"2"});
  EXPECT_NE(error_with(model).find("node 'act' (Relu): its input 's' is a sequence"),
            std::string::npos)
      << error_with(model);
}

TEST(Sequences, OptionalValuesAreThereOrNot) {
  for (const bool present : {false, true}) {
    onnx::ModelProto model = empty_model();
    if (present) add_input(model, "x", {"2"});
    add_node(model, "Optional", present ? Texts{"x"} : Texts{}, {"o"});
    add_node(model, "OptionalHasElement", {"o"}, {"y"});
    auto* output = model.mutable_graph()->add_output();
    output->set_name("y");
    output->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::BOOL);
    const Graph graph = import_with(model);
    const auto& known = graph.value(graph.outputs()[0]).constant;
    ASSERT_NE(known, nullptr);
    EXPECT_EQ(element_as_int(*known, 0) != 0, present);
  }
}

// It always has its one tensor, which OptionalGetElement gives.
TEST(Sequences, AnOptionalTensorIsNoSequence) {
  onnx::ModelProto model = empty_model();
  add_input(model, "x", {"2"});
  add_node(model, "Optional", {"x"}, {"o"});
  add_node(model, "SequenceErase", {"o"}, {"none"}, "drop");
  add_node(model, "OptionalGetElement", {"none"}, {"y"});
  add_output(model, "y", {"2"});
  const std::string problem = error_with(model);
  EXPECT_NE(
      problem.find("node 'drop' (SequenceErase): 'o' is an optional tensor, expected a sequence"),
      std::string::npos)
      << problem;
}

TEST(Sequences, AnOptionalInputIsOneTensor) {
  onnx::ModelProto model = empty_model();
  auto* info = model.mutable_graph()->add_input();
  info->set_name("s");
  auto* type = info->mutable_type()->mutable_optional_type()->mutable_elem_type();
  type->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  add_node(model, "OptionalGetElement", {"s"}, {"y"});
  add_output(model, "y", {"2"});
  EXPECT_EQ(error_with(model, with_list({{2}})), "");
  const std::string problem = error_with(model, with_list({}));
  EXPECT_NE(problem.find("input 's' is an optional tensor, but 0 are given"), std::string::npos)
      << problem;
}

}  // namespace
}  // namespace trainyard::onnx_io
