// A model's own functions: each call becomes the function's nodes.
#pragma once

#include <vector>

#include "models/onnx/model_reader.h"

namespace trainyard::onnx_io {

// Throws Error for a function that calls itself, and for calls that would make more nodes than a
// model may have. Names inside a function get the caller's name in front.
void inline_functions(const std::vector<FileFunction>& functions, FileGraph& graph);

// The same graph with `prefix` before every name of its own; names from around it stay.
FileGraph with_prefix(const FileGraph& graph, const std::string& prefix);

}  // namespace trainyard::onnx_io
