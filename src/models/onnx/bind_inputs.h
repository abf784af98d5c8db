// The static types that the inputs of a file are bound to.
#pragma once

#include <vector>

#include "models/onnx/declared_input.h"
#include "models/onnx/import.h"

namespace trainyard::onnx_io {

// One type per input. Throws Error naming input, dimension and the flag that binds it.
std::vector<TensorType> bind_inputs(const std::vector<DeclaredInput>& inputs,
                                    const ImportOptions& options);

}  // namespace trainyard::onnx_io
