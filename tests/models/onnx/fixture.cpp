#include "models/onnx/fixture.h"

#include <cctype>
#include <cstdlib>

#include "base/error.h"
#include "models/onnx/import.h"

namespace trainyard::onnx_io {
namespace {

onnx::AttributeProto* add_attribute(onnx::NodeProto* node, const std::string& name,
                                    onnx::AttributeProto::AttributeType type) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(type);
  return attribute;
}

void set_type(onnx::ValueInfoProto* info, const std::string& name,
              const std::vector<std::string>& dims, int type) {
  info->set_name(name);
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  auto* shape = tensor->mutable_shape();
  for (const std::string& dim : dims) {
    auto* added = shape->add_dim();
    if (dim == "?") continue;
    if (std::isdigit(static_cast<unsigned char>(dim.back())) != 0) {
      added->set_dim_value(std::stoll(dim));
    } else {
      added->set_dim_param(dim);
    }
  }
}

}  // namespace

onnx::ModelProto empty_model(int64_t opset) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(opset);
  model.mutable_graph()->set_name("g");
  return model;
}

onnx::ModelProto relu_model() {
  onnx::ModelProto model = empty_model();
  add_input(model, "x", {"2", "3"});
  add_node(model, "Relu", {"x"}, {"y"}, "act");
  add_output(model, "y");
  return model;
}

void add_input(onnx::ModelProto& model, const std::string& name,
               const std::vector<std::string>& dims, int type) {
  set_type(model.mutable_graph()->add_input(), name, dims, type);
}

void add_output(onnx::ModelProto& model, const std::string& name,
                const std::vector<std::string>& dims) {
  set_type(model.mutable_graph()->add_output(), name, dims, onnx::TensorProto::FLOAT);
}

onnx::NodeProto* add_node(onnx::ModelProto& model, const std::string& op,
                          const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs, const std::string& name) {
  auto* node = model.mutable_graph()->add_node();
  node->set_op_type(op);
  node->set_name(name);
  for (const std::string& input : inputs) node->add_input(input);
  for (const std::string& output : outputs) node->add_output(output);
  return node;
}

onnx::TensorProto* add_floats(onnx::ModelProto& model, const std::string& name,
                              const std::vector<int64_t>& dims, const std::vector<float>& values) {
  auto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t d : dims) tensor->add_dims(d);
  for (const float v : values) tensor->add_float_data(v);
  return tensor;
}

void add_ints(onnx::ModelProto& model, const std::string& name,
              const std::vector<int64_t>& values) {
  auto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::INT64);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t v : values) tensor->add_int64_data(v);
}

void set_int(onnx::NodeProto* node, const std::string& name, int64_t value) {
  add_attribute(node, name, onnx::AttributeProto::INT)->set_i(value);
}

void set_ints(onnx::NodeProto* node, const std::string& name, const std::vector<int64_t>& values) {
  auto* attribute = add_attribute(node, name, onnx::AttributeProto::INTS);
  for (const int64_t v : values) attribute->add_ints(v);
}

void set_float(onnx::NodeProto* node, const std::string& name, float value) {
  add_attribute(node, name, onnx::AttributeProto::FLOAT)->set_f(value);
}

void set_floats(onnx::NodeProto* node, const std::string& name, const std::vector<float>& values) {
  auto* attribute = add_attribute(node, name, onnx::AttributeProto::FLOATS);
  for (const float v : values) attribute->add_floats(v);
}

void set_text(onnx::NodeProto* node, const std::string& name, const std::string& value) {
  add_attribute(node, name, onnx::AttributeProto::STRING)->set_s(value);
}

void set_value(onnx::NodeProto* node, float value) {
  auto* tensor = add_attribute(node, "value", onnx::AttributeProto::TENSOR)->mutable_t();
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(1);
  tensor->add_float_data(value);
}

std::string import_error(const std::string& bytes) {
  try {
    import_bytes(bytes, "test.onnx");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "trainyard.XXXXXX").string();
  TY_CHECK(::mkdtemp(name.data()) != nullptr, "no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace trainyard::onnx_io
