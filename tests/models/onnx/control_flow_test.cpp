// Bodies, functions and operators of newer opsets on their way into the graph.
#include <gtest/gtest.h>

#include "ir/printer.h"
#include "models/onnx/fixture.h"
#include "models/onnx/import.h"

namespace trainyard::onnx_io {
namespace {

onnx::GraphProto* body_of(onnx::NodeProto* node, const std::string& attribute) {
  auto* added = node->add_attribute();
  added->set_name(attribute);
  added->set_type(onnx::AttributeProto::GRAPH);
  return added->mutable_g();
}

void add_body_node(onnx::GraphProto* graph, const std::string& op,
                   const std::vector<std::string>& inputs, const std::string& output) {
  auto* node = graph->add_node();
  node->set_op_type(op);
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(output);
  graph->add_output()->set_name(output);
}

Graph import_of(const onnx::ModelProto& model) {
  return import_bytes(model.SerializeAsString(), "test.onnx");
}

// If 'choice' takes Relu or Neg of x by the condition c.
onnx::ModelProto if_model(bool constant) {
  onnx::ModelProto model = empty_model(18);
  add_input(model, "x", {"2"});
  if (constant) {
    auto* c = model.mutable_graph()->add_initializer();
    c->set_name("c");
    c->set_data_type(onnx::TensorProto::BOOL);
    c->add_int32_data(1);
  } else {
    auto* c = model.mutable_graph()->add_input();
    c->set_name("c");
    c->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::BOOL);
    c->mutable_type()->mutable_tensor_type()->mutable_shape();
  }
  auto* node = add_node(model, "If", {"c"}, {"y"}, "choice");
  add_body_node(body_of(node, "then_branch"), "Relu", {"x"}, "a");
  add_body_node(body_of(node, "else_branch"), "Neg", {"x"}, "a");
  add_output(model, "y", {"2"});
  return model;
}

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const NodeId id : graph.node_ids()) ops.push_back(graph.node(id).op);
  return ops;
}

TEST(ControlFlow, ABranchThatIsKnownToBeTakenNeedsNoIf) {
  EXPECT_EQ(ops_of(import_of(if_model(true))), (std::vector<std::string>{"Relu", "Identity"}));
}

TEST(ControlFlow, WhatABodyReadsBecomesAnInputOfTheNode) {
  const Graph graph = import_of(if_model(false));
  ASSERT_EQ(ops_of(graph), std::vector<std::string>{"If"});
  EXPECT_EQ(graph.node(graph.node_ids()[0]).inputs.size(), 3U);  // the condition, x for each branch
}

// As in networks with a branch for each rate of sampling: which one fits, the inputs say.
TEST(ControlFlow, ABranchThatDoesNotFitMattersOnlyToTheRunThatTakesIt) {
  onnx::ModelProto model = if_model(false);
  add_floats(model, "w", {3, 2}, std::vector<float>(6, 1));
  auto* branch = model.mutable_graph()->mutable_node(0)->mutable_attribute(1)->mutable_g();
  branch->mutable_node(0)->set_op_type("MatMul");
  branch->mutable_node(0)->add_input("w");
  const Graph graph = import_of(model);
  const Node& node = graph.node(graph.node_ids()[0]);
  EXPECT_EQ(graph.value(node.outputs[0]).type.shape, Shape{2});
  ASSERT_TRUE(node.attributes.contains("else_refusal"));
  EXPECT_NE(std::get<std::string>(node.attributes.at("else_refusal")).find("MatMul"),
            std::string::npos);
  auto* other = model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  *other->mutable_node(0) = branch->node(0);
  EXPECT_NE(import_error(model).find("MatMul"), std::string::npos) << import_error(model);
}

TEST(ControlFlow, ABodyThatReadsWhatNobodyMakesIsNamed) {
  onnx::ModelProto model = if_model(false);
  auto* branch = model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  branch->mutable_node(0)->set_input(0, "nowhere");
  EXPECT_NE(import_error(model).find("'nowhere' is made by no node"), std::string::npos)
      << import_error(model);
}

TEST(ControlFlow, BodiesNestedTooDeeplyAreRefused) {
  onnx::GraphProto inner;
  add_body_node(&inner, "Relu", {"x"}, "a");
  for (int i = 0; i < 40; ++i) {
    onnx::GraphProto outer;
    auto* node = outer.add_node();
    node->set_op_type("If");
    node->add_input("c");
    node->add_output("b" + std::to_string(i));
    *body_of(node, "then_branch") = inner;
    *body_of(node, "else_branch") = inner;
    outer.add_output()->set_name("b" + std::to_string(i));
    if (i > 12) {
      node->mutable_attribute()->RemoveLast();
      *body_of(node, "else_branch") = onnx::GraphProto();
    }
    inner = outer;
  }
  onnx::ModelProto model = if_model(false);
  *model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g() = inner;
  EXPECT_NE(import_error(model), "");
}

onnx::FunctionProto* add_function(onnx::ModelProto& model, const std::string& name) {
  auto* function = model.add_functions();
  function->set_domain("own");
  function->set_name(name);
  function->add_input("a");
  function->add_output("b");
  auto* opset = function->add_opset_import();
  opset->set_domain("");
  opset->set_version(18);
  return function;
}

TEST(ControlFlow, MoreOutputsThanABodyGivesAreRefused) {
  onnx::ModelProto model = if_model(false);
  model.mutable_graph()->mutable_node(0)->add_output("z");
  EXPECT_NE(import_error(model).find("it has 2 outputs, its then_branch gives 1"),
            std::string::npos)
      << import_error(model);
}

TEST(Functions, ACallBecomesTheFunctionsNodes) {
  onnx::ModelProto model = empty_model(18);
  add_input(model, "x", {"2"});
  add_node(model, "Twice", {"x"}, {"y"}, "call")->set_domain("own");
  add_output(model, "y", {"2"});
  auto* function = add_function(model, "Twice");
  auto* first = function->add_node();
  first->set_op_type("Relu");
  first->add_input("a");
  first->add_output("t");
  auto* second = function->add_node();
  second->set_op_type("Neg");
  second->add_input("t");
  second->add_output("b");
  EXPECT_EQ(ops_of(import_of(model)), (std::vector<std::string>{"Relu", "Neg"}));
}

TEST(Functions, OneThatCallsItselfIsRefused) {
  onnx::ModelProto model = empty_model(18);
  add_input(model, "x", {"2"});
  add_node(model, "Round", {"x"}, {"y"}, "call")->set_domain("own");
  add_output(model, "y", {"2"});
  auto* node = add_function(model, "Round")->add_node();
  node->set_op_type("Round");
  node->set_domain("own");
  node->add_input("a");
  node->add_output("b");
  EXPECT_NE(import_error(model).find("'Round' calls itself"), std::string::npos)
      << import_error(model);
}

TEST(NewerOpsets, FourBitDataOfTheWrongLengthIsRefused) {
  onnx::ModelProto model = relu_model();
  auto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(22);
  tensor->add_dims(5);
  tensor->set_raw_data(std::string(2, '\0'));
  EXPECT_EQ(import_error(model),
            "test.onnx: initializer 'w': its type i4[5] wants 3 bytes, it has 2");
}

TEST(NewerOpsets, AxesOfAReductionBecomeAnAttribute) {
  onnx::ModelProto model = empty_model(18);
  add_input(model, "x", {"2", "3"});
  add_ints(model, "axes", {1});
  add_node(model, "ReduceMax", {"x", "axes"}, {"y"}, "n");
  add_output(model, "y", {"2", "1"});
  const Graph graph = import_of(model);
  EXPECT_EQ(graph.node(graph.node_ids()[0]).inputs.size(), 1U);
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.to_string(), "f32[2,1]");
}

TEST(Microsoft, QuantizedAdditionIsAnAdditionBetweenConversions) {
  onnx::ModelProto model = empty_model(17);
  add_input(model, "a", {"2"}, onnx::TensorProto::UINT8);
  add_input(model, "b", {"2"}, onnx::TensorProto::UINT8);
  add_floats(model, "s", {}, {0.5F});
  add_node(model, "QLinearAdd", {"a", "s", "", "b", "s", "", "s", ""}, {"y"})
      ->set_domain("com.microsoft");
  add_output(model, "y", {"2"});
  model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::UINT8);
  EXPECT_EQ(
      ops_of(import_of(model)),
      (std::vector<std::string>{"DequantizeLinear", "DequantizeLinear", "Add", "QuantizeLinear"}));
}

}  // namespace
}  // namespace trainyard::onnx_io
