// The operator Gradient of ai.onnx.preview.training: derivatives of a value by name.
#pragma once

#include <string>

#include "models/onnx/model_reader.h"

namespace trainyard::onnx_io {

bool is_gradient(const FileNode& node);

// The name of the value that a Gradient differentiates, which its inputs do not tell; empty if the
// file does not say.
std::string differentiated_by(const FileNode& node);

}  // namespace trainyard::onnx_io
