// What a parsed ONNX model says, in our own words: plain structs, no protobuf beyond this point.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attribute.h"
#include "onnx_io/bind_inputs.h"
#include "onnx_io/payload.h"

namespace trainyard::onnx_io {

struct FileNode {
  std::string name;
  std::string op;
  std::string domain;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  Attributes attributes;
};

struct FileTensor {
  std::string name;
  std::shared_ptr<const Tensor> data;
};

struct FileOutput {
  std::string name;
  DType dtype = DType::kF32;
};

struct FileModel {
  std::string graph_name;
  int64_t opset = 0;
  std::vector<DeclaredInput> inputs;  // without those that are initializers
  std::vector<FileTensor> initializers;
  std::vector<FileNode> nodes;
  std::vector<FileOutput> outputs;
};

// `owner` and `folder` as for TensorReader. Throws Error, without the file's name, naming node or
// value and reason; every operator that is not supported is in one message.
FileModel read_model(Bytes file, std::shared_ptr<void> owner, std::filesystem::path folder);
Tensor read_tensor(Bytes file, std::shared_ptr<void> owner, std::filesystem::path folder);

}  // namespace trainyard::onnx_io
