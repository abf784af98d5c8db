// The operator Gradient of ai.onnx.preview.training.
#include <gtest/gtest.h>

#include "ir/graph.h"
#include "models/onnx/fixture.h"
#include "models/onnx/import.h"

namespace trainyard::onnx_io {
namespace {

void set_texts(onnx::NodeProto* node, const std::string& name,
               const std::vector<std::string>& values) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::STRINGS);
  for (const std::string& value : values) attribute->add_strings(value);
}

// d = (a + b) a, and its derivatives by the names given.
onnx::ModelProto gradient_model(const std::vector<std::string>& variables) {
  onnx::ModelProto model = empty_model();
  add_input(model, "a", {"2"});
  add_input(model, "b", {"2"});
  // Before what it differentiates: order is not promised by the file.
  onnx::NodeProto* node = add_node(model, "Gradient", {"a", "b"}, {"da", "db"}, "slope");
  node->set_domain("ai.onnx.preview.training");
  set_texts(node, "xs", variables);
  set_text(node, "y", "d");
  add_node(model, "Add", {"a", "b"}, {"c"});
  add_node(model, "Mul", {"c", "a"}, {"d"});
  add_output(model, "da", {"2"});
  add_output(model, "db", {"2"});
  return model;
}

TEST(GradientNode, BecomesTheNodesOfTheDerivative) {
  const Graph graph = import_bytes(gradient_model({"a", "b"}).SerializeAsString(), "test.onnx");
  ASSERT_EQ(graph.outputs().size(), 2U);
  for (const ValueId id : graph.outputs()) {
    EXPECT_EQ(graph.value(id).type, (TensorType{DType::kF32, Shape{2}}));
  }
}

TEST(GradientNode, OtherValuesThanItsInputsAreRefused) {
  EXPECT_NE(import_error(gradient_model({"a", "c"})).find("'xs' and 'zs' name"), std::string::npos);
}

TEST(GradientNode, AMissingNameIsRefused) {
  onnx::ModelProto model = gradient_model({"a", "b"});
  model.mutable_graph()->mutable_node(0)->mutable_attribute(1)->set_s("nobody");
  EXPECT_NE(import_error(model).find("'nobody' is made by no node"), std::string::npos)
      << import_error(model);
}

}  // namespace
}  // namespace trainyard::onnx_io
