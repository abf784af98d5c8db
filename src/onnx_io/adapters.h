// Older operator versions written as opset 17 has them.
#pragma once

#include "onnx_io/import_node.h"

namespace trainyard::onnx_io {

// Rewrites `node` (its version is node.opset) into its form of opset 17; may add helper nodes and
// constants before it. Throws Error, without the node's name, where there is no such form.
void adapt_node(ImportNode& node, Emitter& emitter);

// The operator that adapt_node() makes of `op`: another one for those that opset 17 no longer has.
std::string_view adapted_op(std::string_view op);

}  // namespace trainyard::onnx_io
