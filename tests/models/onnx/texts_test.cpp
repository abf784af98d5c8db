// Tensors of texts in files.
#include <gtest/gtest.h>

#include "base/file.h"
#include "ir/graph.h"
#include "models/onnx/check.h"
#include "models/onnx/export.h"
#include "models/onnx/fixture.h"
#include "models/onnx/import.h"
#include "tensor/text.h"

namespace trainyard::onnx_io {
namespace {

// y: the names at three places; the second is "dog".
onnx::ModelProto label_model(int count = 2) {
  onnx::ModelProto model = empty_model();
  onnx::TensorProto* names = model.mutable_graph()->add_initializer();
  names->set_name("names");
  names->set_data_type(onnx::TensorProto::STRING);
  names->add_dims(count);
  for (int i = 0; i < count; ++i) names->add_string_data(i == 1 ? "dog" : "cat");
  add_input(model, "at", {"3"}, onnx::TensorProto::INT64);
  add_node(model, "Gather", {"names", "at"}, {"y"});
  onnx::ValueInfoProto* y = model.mutable_graph()->add_output();
  y->set_name("y");
  y->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::STRING);
  y->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(3);
  return model;
}

TEST(Texts, AreReadFromTheirField) {
  onnx::ModelProto model = label_model();
  const Graph graph = import_bytes(model.SerializeAsString(), "test.onnx");
  EXPECT_EQ(graph.value(graph.outputs()[0]).type, (TensorType{DType::kText, Shape{3}}));
  EXPECT_EQ(text_at(graph.value(graph.find_value("names")).constant->view(), 1), "dog");
  model.mutable_graph()->mutable_initializer(0)->add_dims(1'000'000'000);
  EXPECT_NE(import_error(model).find("wants 2000000000 texts, it has 2"), std::string::npos)
      << import_error(model);
}

TEST(Texts, AreSeenByTheChecker) {
  const TemporaryFolder folder;
  write_file(folder.path() / "m.onnx", label_model().SerializeAsString());
  for (const Finding& finding : check_model(folder.path() / "m.onnx").findings) {
    ADD_FAILURE() << finding.source << ": " << finding.message;
  }
}

TEST(Texts, AreExported) {
  const Graph graph = import_bytes(label_model(500).SerializeAsString(), "test.onnx");
  for (const int64_t largest : {int64_t{1} << 30, int64_t{0}}) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder.path() / "m.onnx";
    ExportOptions options;
    options.largest_file = largest;
    export_model(graph, path, options);
    EXPECT_TRUE(check_model(path).findings.empty());
    const Graph back = import_model(path);
    EXPECT_EQ(text_at(back.value(back.find_value("names")).constant->view(), 1), "dog");
  }
}

}  // namespace
}  // namespace trainyard::onnx_io
