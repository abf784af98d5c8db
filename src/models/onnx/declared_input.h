// Inputs as the file of a model declares them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace trainyard::onnx_io {

// A dimension is a count, a symbol, or (neither) unknown.
struct DeclaredDim {
  std::optional<int64_t> value;
  std::string symbol;
};

struct DeclaredInput {
  enum class Form : uint8_t { kTensor, kSequence, kOptional, kOptionalSequence };

  std::string name;
  DType dtype = DType::kF32;                     // of the elements of a sequence
  std::optional<std::vector<DeclaredDim>> dims;  // none: not even the rank is known
  Form form = Form::kTensor;
};

// Without those that are initializers. Throws Error as import_model() does for a file that is
// damaged or has operators that are not supported.
std::vector<DeclaredInput> declared_inputs(const std::filesystem::path& path);

// Inputs and the forms of the outputs.
struct DeclaredValues {
  std::vector<DeclaredInput> inputs;
  std::vector<DeclaredInput::Form> outputs;
};
DeclaredValues declared_values(const std::filesystem::path& path);

}  // namespace trainyard::onnx_io
