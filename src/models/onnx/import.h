// ONNX files into graphs, normalized to opset 17 with all shapes bound.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "ir/graph.h"
#include "models/onnx/declared_input.h"

namespace trainyard::onnx_io {

// The file is a model, but uses operators that are not supported.
class UnsupportedOperators : public Error {
 public:
  using Error::Error;
};

struct ImportOptions {
  // Bound to the first dimension of every input that leaves it open; if none does, the fixed first
  // dimension of the inputs is replaced. Without it an open first dimension is 1.
  std::optional<int64_t> batch;
  // Whole shapes by the name of the input.
  std::map<std::string, Shape> shapes;
  // Elements of the inputs that are sequences or optional values; none: an absent one.
  std::map<std::string, std::optional<std::vector<Shape>>> lists = {};
  // What inputs will be given, where that is known: it tells how long sequences are, which of them
  // a position means and how often a loop that carries them runs. Where that is asked, the graph
  // is right for these values alone.
  std::map<std::string, std::shared_ptr<const Tensor>> values = {};
};

// Throws Error naming file, node and reason for a file that is damaged, wrong, or asks for what
// is not supported (all missing operators in one message). Weights stay in the mapped file where
// their alignment allows it; the graph keeps the mapping alive, and the file must not shrink.
Graph import_model(const std::filesystem::path& path, const ImportOptions& options = {});

// The same for bytes in memory, which are copied. `origin` names them in errors. External data is
// refused.
Graph import_bytes(std::string_view bytes, std::string_view origin,
                   const ImportOptions& options = {});

// A file holding one value (.pb), as the ONNX test data has them: a TensorProto, or the elements of
// a SequenceProto or an OptionalProto; none for an absent one.
std::optional<std::vector<Tensor>> import_value(const std::filesystem::path& path,
                                                DeclaredInput::Form form);

}  // namespace trainyard::onnx_io
