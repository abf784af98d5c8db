// What a parsed ONNX model says, in our own words: plain structs, no protobuf beyond this point.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attribute.h"
#include "models/onnx/bind_inputs.h"
#include "models/onnx/payload.h"

namespace trainyard::onnx_io {

class ExternalFiles;
struct FileGraph;

struct FileNode {
  std::string name;
  std::string op;
  std::string domain;  // empty: ONNX's own
  int64_t opset = 0;   // of ONNX's own operators, where the node stands
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  Attributes attributes;
  // Bodies of control flow, by the name of the attribute; shared, since nobody changes them.
  std::map<std::string, std::shared_ptr<const FileGraph>> graphs;
  // In a function: attributes that the caller gives, by their name here -> at the caller.
  std::map<std::string, std::string> references;
};

struct FileTensor {
  std::string name;
  std::shared_ptr<const Tensor> data;
};

struct FileOutput {
  std::string name;
  std::optional<DType> dtype = {};  // none: not declared, as bodies may leave it
  DeclaredInput::Form form = DeclaredInput::Form::kTensor;
  std::optional<std::vector<DeclaredDim>> dims = {};  // none: not declared
};

struct FileGraph {
  std::string name;
  std::vector<DeclaredInput> inputs;  // without those that are initializers
  std::vector<FileTensor> initializers;
  std::vector<FileNode> nodes;
  std::vector<FileOutput> outputs;
};

// A function of the model: its nodes stand in for a call.
struct FileFunction {
  std::string domain;
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  Attributes defaults;
  std::vector<FileNode> nodes;
};

// The newest operator set of ONNX that is read.
inline constexpr int64_t kNewestOpset = 28;

// `owner` and `folder` as for TensorReader. Throws Error, without the file's name, naming node or
// value and reason; every operator that is not supported is in one message. Calls of the model's
// own functions are replaced by their nodes.
FileGraph read_model(Bytes file, std::shared_ptr<void> owner, std::filesystem::path folder);
FileGraph read_model(Bytes file, std::shared_ptr<void> owner, std::shared_ptr<ExternalFiles> files);
Tensor read_tensor(Bytes file, std::shared_ptr<void> owner, std::filesystem::path folder);
// As import_value().
std::optional<std::vector<Tensor>> read_value(Bytes file, const std::shared_ptr<void>& owner,
                                              const std::filesystem::path& folder,
                                              DeclaredInput::Form form);

}  // namespace trainyard::onnx_io
