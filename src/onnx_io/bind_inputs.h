// Graph inputs as files declare them, and the static types they are bound to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "onnx_io/import.h"
#include "tensor/shape.h"

namespace trainyard::onnx_io {

// A dimension is a count, a symbol, or (neither) unknown.
struct DeclaredDim {
  std::optional<int64_t> value;
  std::string symbol;
};

struct DeclaredInput {
  std::string name;
  DType dtype = DType::kF32;
  std::optional<std::vector<DeclaredDim>> dims;  // none: not even the rank is known
};

// One type per input. Throws Error naming input, dimension and the flag that binds it.
std::vector<TensorType> bind_inputs(const std::vector<DeclaredInput>& inputs,
                                    const ImportOptions& options);

}  // namespace trainyard::onnx_io
