#include "models/onnx/import.h"

#include <array>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "ir/printer.h"
#include "models/onnx/fixture.h"

namespace trainyard::onnx_io {
namespace {

Graph import_proto(const onnx::ModelProto& model, const ImportOptions& options = {}) {
  return import_bytes(model.SerializeAsString(), "test.onnx", options);
}

TEST(Import, KeepsNamesAndPutsProducersFirst) {
  onnx::ModelProto model = empty_model();
  add_input(model, "x", {"2", "3"});
  add_node(model, "Relu", {"a"}, {"b"}, "second");
  add_node(model, "Relu", {"x"}, {"a"}, "first");
  add_output(model, "b");
  EXPECT_EQ(print_graph(import_proto(model)),
            "graph g\n  input x : f32[2,3]\n  a : f32[2,3] = Relu(x)\n  b : f32[2,3] = Relu(a)\n"
            "  output b\n");
}

TEST(Import, NodesWithoutOrWithEqualNamesGetTheirOwn) {
  onnx::ModelProto model = relu_model();
  add_node(model, "Relu", {"y"}, {"z"}, "act");
  add_node(model, "Relu", {"z"}, {"relu"});
  const Graph graph = import_proto(model);
  std::vector<std::string> names;
  for (const NodeId id : graph.node_ids()) names.push_back(graph.node(id).name);
  EXPECT_EQ(names, (std::vector<std::string>{"act", "act_1", "relu_1"}));
}

TEST(Import, ReadsNumbersInEveryEncoding) {
  onnx::ModelProto model = relu_model();
  add_floats(model, "packed", {2}, {1.5F, -2.0F});
  auto* raw = add_floats(model, "raw", {2}, {});
  const std::array<float, 2> values = {0.25F, 8.0F};
  raw->set_raw_data(values.data(), sizeof values);
  auto* half = add_floats(model, "half", {1}, {});
  half->set_data_type(onnx::TensorProto::FLOAT16);
  half->add_int32_data(0x3c00);
  auto* small = add_floats(model, "small", {2}, {});
  small->set_data_type(onnx::TensorProto::INT8);
  small->add_int32_data(-3);
  small->add_int32_data(127);
  auto* flag = add_floats(model, "flag", {1}, {});
  flag->set_data_type(onnx::TensorProto::BOOL);
  flag->set_raw_data("\x05", 1);
  const Graph graph = import_proto(model);
  const auto element = [&](const char* name, int64_t i) {
    return element_as_double(*graph.value(graph.find_value(name)).constant, i);
  };
  EXPECT_EQ(element("packed", 1), -2.0);
  EXPECT_EQ(element("raw", 1), 8.0);
  EXPECT_EQ(element("half", 0), 1.0);
  EXPECT_EQ(graph.value(graph.find_value("half")).type.dtype, DType::kF16);
  EXPECT_EQ(element("small", 0), -3.0);
  EXPECT_EQ(element("small", 1), 127.0);
  EXPECT_EQ(element("flag", 0), 1.0);
}

TEST(Import, InitializersThatAreAlsoInputsAreInitializers) {
  onnx::ModelProto model = relu_model();
  add_input(model, "w", {"1"});
  add_floats(model, "w", {1}, {1.0F});
  EXPECT_EQ(import_proto(model).inputs().size(), 1U);
}

TEST(Import, ConstantsBecomeInitializers) {
  onnx::ModelProto model = empty_model();
  add_input(model, "x", {"2", "3"});
  set_value(add_node(model, "Constant", {}, {"c"}), 4.0F);
  add_node(model, "Add", {"x", "c"}, {"y"});
  add_output(model, "y");
  const Graph graph = import_proto(model);
  EXPECT_EQ(graph.num_nodes(), 1);
  EXPECT_EQ(element_as_double(*graph.value(graph.find_value("c")).constant, 0), 4.0);
}

TEST(Import, AFilledShapeIsARuleAndTakesNoMemory) {
  onnx::ModelProto model = empty_model();
  add_input(model, "x", {"1", "100000"});
  add_ints(model, "dims", {100000, 100000});  // 40 GB of numbers
  set_value(add_node(model, "ConstantOfShape", {"dims"}, {"w"}), 0.5F);
  add_node(model, "MatMul", {"x", "w"}, {"y"}, "fc");
  add_output(model, "y");
  const Graph graph = import_proto(model);
  ASSERT_EQ(graph.initializers().size(), 1U);
  const Value& w = graph.value(graph.initializers()[0]);
  EXPECT_EQ(w.rule, init_constant(0.5));
  EXPECT_EQ(w.constant, nullptr);
  EXPECT_EQ(w.type.shape, (Shape{100000, 100000}));
}

TEST(Import, WeightsOfAFileAreAlwaysAligned) {
  const TemporaryFolder folder;
  onnx::ModelProto model = relu_model();
  // Names of four lengths put the data at every remainder of four.
  for (size_t length = 1; length <= 4; ++length) {
    add_floats(model, std::string(length, 'w'), {256}, {})->set_raw_data(std::string(1024, '\0'));
  }
  const auto path = folder.path() / "m.onnx";
  write_file(path, model.SerializeAsString());
  const Graph graph = import_model(path);
  EXPECT_EQ(graph.initializers().size(), 4U);
  for (const ValueId id : graph.initializers()) {
    EXPECT_EQ(element_as_double(*graph.value(id).constant, 255), 0.0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(graph.value(id).constant->data()) % 4, 0U);
  }
}

TEST(Import, ReadsATensorFile) {
  const TemporaryFolder folder;
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(2);
  tensor.add_int64_data(-5);
  tensor.add_int64_data(int64_t{1} << 40);
  write_file(folder.path() / "t.pb", tensor.SerializeAsString());
  const auto read = import_value(folder.path() / "t.pb", DeclaredInput::Form::kTensor);
  ASSERT_EQ(read.value().size(), 1U);
  EXPECT_EQ(to_ints(read->front()), (std::vector<int64_t>{-5, int64_t{1} << 40}));
}

onnx::ModelProto symbolic_model() {
  onnx::ModelProto model = empty_model();
  add_input(model, "a", {"N", "3"});
  add_input(model, "b", {"N", "3"});
  add_node(model, "Add", {"a", "b"}, {"y"});
  add_output(model, "y");
  return model;
}

Shape output_shape(const Graph& graph) {
  return graph.value(graph.outputs()[0]).type.shape;
}

ImportOptions with_shape(const std::string& name, Shape shape) {
  ImportOptions options;
  options.shapes.emplace(name, std::move(shape));
  return options;
}

ImportOptions with_batch(int64_t batch) {
  ImportOptions options;
  options.batch = batch;
  return options;
}

TEST(ImportShapes, TheFirstDimensionIsOneUnlessGiven) {
  EXPECT_EQ(output_shape(import_proto(symbolic_model())), (Shape{1, 3}));
  EXPECT_EQ(output_shape(import_proto(symbolic_model(), with_batch(8))), (Shape{8, 3}));
}

TEST(ImportShapes, AShapeBindsItsSymbolsEverywhere) {
  EXPECT_EQ(output_shape(import_proto(symbolic_model(), with_shape("a", {5, 3}))), (Shape{5, 3}));
}

TEST(ImportShapes, ABatchReplacesAFixedFirstDimension) {
  EXPECT_EQ(output_shape(import_proto(relu_model(), with_batch(7))), (Shape{7, 3}));
}

TEST(ImportShapes, OtherOpenDimensionsMustBeGiven) {
  onnx::ModelProto model = empty_model();
  add_input(model, "image", {"N", "3", "height", "?"});
  add_node(model, "Relu", {"image"}, {"y"});
  add_output(model, "y");
  EXPECT_EQ(import_error(model),
            "test.onnx: input 'image': dimension 2 ('height') is not fixed; give shape "
            "image=N,3,height,?");
  EXPECT_EQ(output_shape(import_proto(model, with_shape("image", {1, 3, 8, 9}))),
            (Shape{1, 3, 8, 9}));
}

TEST(ImportShapes, WrongFlagsAreRefused) {
  EXPECT_THROW(import_proto(symbolic_model(), with_shape("A", {5, 3})), Error);
  EXPECT_THROW(import_proto(symbolic_model(), with_shape("a", {5})), Error);
  EXPECT_THROW(import_proto(symbolic_model(), with_shape("a", {5, -3})), Error);
  EXPECT_THROW(import_proto(symbolic_model(), with_batch(0)), Error);
}

// What names nothing stands for as many lengths as there are places.
TEST(ImportShapes, MarksOfOpenDimensionsAreNoNames) {
  for (const char* mark : {"?", "-1", "None"}) {
    onnx::ModelProto model = empty_model();
    add_input(model, "a", {"batch", "length"});
    auto* shape = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
    for (auto& dim : *shape->mutable_shape()->mutable_dim()) dim.set_dim_param(mark);
    add_node(model, "Relu", {"a"}, {"y"});
    add_output(model, "y");
    EXPECT_EQ(output_shape(import_proto(model, with_shape("a", {5, 3}))), (Shape{5, 3})) << mark;
  }
}

}  // namespace
}  // namespace trainyard::onnx_io
