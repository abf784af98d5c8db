// Operators of any version and domain written as opset 17 has them, or as operators of ours that
// newer opsets have.
#pragma once

#include "models/onnx/import_node.h"

namespace trainyard::onnx_io {

// Rewrites `node` (its version is node.opset); may add helper nodes and constants before it.
// Throws Error, without the node's name, where there is no such form.
void adapt_node(ImportNode& node, Emitter& emitter);

// Does the importer know the operator, in some version?
bool is_known_operator(std::string_view domain, std::string_view op);

}  // namespace trainyard::onnx_io
