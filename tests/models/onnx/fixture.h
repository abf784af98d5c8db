// ONNX models built in memory for tests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace trainyard::onnx_io {

// A model of IR version 8 with no nodes, inputs or outputs.
onnx::ModelProto empty_model(int64_t opset = 17);
// Relu 'act' from x: f32[2,3] to y.
onnx::ModelProto relu_model();

// Dimensions: a number, or a symbol; "?" is neither.
void add_input(onnx::ModelProto& model, const std::string& name,
               const std::vector<std::string>& dims, int type = onnx::TensorProto::FLOAT);
void add_output(onnx::ModelProto& model, const std::string& name,
                const std::vector<std::string>& dims = {"?", "?"});
onnx::NodeProto* add_node(onnx::ModelProto& model, const std::string& op,
                          const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs, const std::string& name = "");
onnx::TensorProto* add_floats(onnx::ModelProto& model, const std::string& name,
                              const std::vector<int64_t>& dims, const std::vector<float>& values);
void add_ints(onnx::ModelProto& model, const std::string& name, const std::vector<int64_t>& values);
void set_int(onnx::NodeProto* node, const std::string& name, int64_t value);
void set_ints(onnx::NodeProto* node, const std::string& name, const std::vector<int64_t>& values);
void set_float(onnx::NodeProto* node, const std::string& name, float value);
void set_floats(onnx::NodeProto* node, const std::string& name, const std::vector<float>& values);
void set_text(onnx::NodeProto* node, const std::string& name, const std::string& value);
// An attribute "value" of one number.
void set_value(onnx::NodeProto* node, float value);

// The message of the Error that importing throws; empty if there is none.
std::string import_error(const std::string& bytes);
inline std::string import_error(const onnx::ModelProto& model) {
  return import_error(model.SerializeAsString());
}

// A fresh folder, removed with all its files at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace trainyard::onnx_io
