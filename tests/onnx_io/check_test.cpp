#include "onnx_io/check.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/file.h"
#include "onnx_io/fixture.h"

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
