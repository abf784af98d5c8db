#include "models/onnx/check.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/file.h"
#include "models/onnx/fixture.h"

namespace trainyard::onnx_io {
namespace {

CheckReport check(const onnx::ModelProto& model) {
  const TemporaryFolder folder;
  write_file(folder.path() / "m.onnx", model.SerializeAsString());
  return check_model(folder.path() / "m.onnx");
}

bool has(const CheckReport& report, const std::string& source, const std::string& node,
         const std::string& text) {
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& f) {
    return f.source == source && f.node == node && f.message.find(text) != std::string::npos;
  });
}

std::string all_of(const CheckReport& report) {
  std::string text;
  for (const Finding& f : report.findings) text += f.source + "|" + f.node + "|" + f.message + "\n";
  return text;
}

TEST(Check, AGoodFileHasNoFindings) {
  const CheckReport report = check(relu_model());
  EXPECT_EQ(all_of(report), "");
  EXPECT_EQ(report.num_nodes, 1);
}

// Valid files that the judges do not know, or that say less than a run needs.
TEST(Check, NoFindingsWhereNothingIsWrong) {
  onnx::ModelProto newer = relu_model();
  newer.set_ir_version(10);
  EXPECT_EQ(all_of(check(newer)), "");
  EXPECT_EQ(check(newer).ir_version, 10);
  onnx::ModelProto open = empty_model();
  add_input(open, "x", {"n", "length"});
  add_input(open, "z", {"length", "?"});
  add_node(open, "MatMul", {"x", "z"}, {"y"}, "product");
  add_output(open, "y");
  EXPECT_EQ(all_of(check(open)), "");
  onnx::ModelProto choice = relu_model();
  add_input(choice, "c", {}, onnx::TensorProto::BOOL);
  auto* node = add_node(choice, "If", {"c"}, {"z"}, "choice");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    attribute->mutable_g()->set_name(name);
    auto* inner = attribute->mutable_g()->add_node();
    inner->set_op_type("Neg");
    inner->add_input("y");
    inner->add_output(std::string("of_") + name);
    *attribute->mutable_g()->add_output() = choice.graph().output(0);
    attribute->mutable_g()->mutable_output(0)->set_name(std::string("of_") + name);
  }
  add_output(choice, "z", {"2", "3"});
  EXPECT_EQ(all_of(check(choice)), "");
}

// A length that only the file's author knows is no fault of the file.
TEST(Check, ALengthThatIsNotTriedIsNoFinding) {
  onnx::ModelProto fixed = empty_model();
  add_input(fixed, "x", {"n", "length"});
  add_floats(fixed, "w", {3, 2}, {1, 2, 3, 4, 5, 6});
  add_node(fixed, "MatMul", {"x", "w"}, {"y"}, "product");
  add_output(fixed, "y");
  const CheckReport report = check(fixed);
  EXPECT_EQ(all_of(report), "");
  EXPECT_NE(report.unchecked.find("inner sizes of 1x64 and 3x2 differ"), std::string::npos)
      << report.unchecked;
  // What is wrong for any length is still found.
  set_int(fixed.mutable_graph()->mutable_node(0), "wrong", 1);
  EXPECT_TRUE(has(check(fixed), "trainyard", "", "wrong")) << all_of(check(fixed));
}

TEST(Check, EveryNodeWithAWrongAttributeIsNamed) {
  onnx::ModelProto model = relu_model();
  set_int(model.mutable_graph()->mutable_node(0), "slope", 1);
  auto* second = add_node(model, "Sigmoid", {"y"}, {"z"}, "gate");
  set_int(second, "axis", 1);
  const CheckReport report = check(model);
  EXPECT_TRUE(has(report, "onnx checker", "act", "slope")) << all_of(report);
  EXPECT_TRUE(has(report, "onnx checker", "gate", "axis")) << all_of(report);
  EXPECT_TRUE(has(report, "trainyard", "", "node 'act' (Relu): it has no attribute 'slope'"))
      << all_of(report);
}

TEST(Check, UnsupportedOperatorsAreStillLookedAtByOnnx) {
  onnx::ModelProto model = relu_model();
  set_int(add_node(model, "Multinomial", {"x"}, {"s"}, "draw"), "slope", 1);
  const CheckReport report = check(model);
  EXPECT_TRUE(has(report, "trainyard", "", "not supported: Multinomial")) << all_of(report);
  EXPECT_TRUE(has(report, "onnx checker", "draw", "slope")) << all_of(report);
}

TEST(Check, AnUnknownOperatorIsNamedByBoth) {
  onnx::ModelProto model = relu_model();
  add_node(model, "MadeUp", {"x"}, {"s"}, "odd");
  const CheckReport report = check(model);
  EXPECT_TRUE(has(report, "trainyard", "", "not supported: MadeUp")) << all_of(report);
  EXPECT_TRUE(has(report, "onnx checker", "odd", "MadeUp")) << all_of(report);
}

TEST(Check, SmallConstantsReachShapeInference) {
  onnx::ModelProto model = empty_model();
  add_input(model, "x", {"2", "3"});
  add_ints(model, "shape", {7});
  add_node(model, "Reshape", {"x", "shape"}, {"y"}, "view");
  add_output(model, "y", {"6"});
  const CheckReport report = check(model);
  EXPECT_TRUE(has(report, "trainyard", "", "node 'view' (Reshape)")) << all_of(report);
  model.mutable_graph()->mutable_initializer(0)->set_int64_data(0, 6);
  EXPECT_EQ(all_of(check(model)), "");
}

// Beyond the opsets that the ONNX library knows, we compare them ourselves.
TEST(Check, AnOutputOfAnotherShapeThanDeclaredIsNamed) {
  for (const std::string last : {"3", "4", "n"}) {
    onnx::ModelProto model = empty_model(20);
    add_input(model, "x", {"2", "3"});
    add_node(model, "Gelu", {"x"}, {"y"}, "act");
    add_output(model, "y", {"2", last});
    const CheckReport report = check(model);
    ASSERT_EQ(report.findings.size(), last == "4" ? 1U : 0U);
    if (last != "4") continue;
    EXPECT_EQ(report.findings[0].message,
              "output 'y' is declared with shape 2x4, its node gives 2x3");
  }
}

TEST(Check, DamageIsOneFinding) {
  const TemporaryFolder folder;
  write_file(folder.path() / "m.onnx", "no model at all");
  EXPECT_EQ(check_model(folder.path() / "m.onnx").findings.size(), 1U);
}

}  // namespace
}  // namespace trainyard::onnx_io
