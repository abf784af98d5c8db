// A graph as a file of some opset can hold it.
#pragma once

#include <string_view>

#include "ir/graph.h"

namespace trainyard::onnx_io {

// Makes operators that are newer than `opset` of older ones: Gelu, Swish, RMSNormalization,
// Attention without a past, RotaryEmbedding of whole heads. What cannot be made of older ones
// stays, for the exporter to name.
Graph lower_to_opset(const Graph& graph, int64_t opset);

// The opset in which an operator beyond opset 17 came to ONNX; 0: it is older, or none of ONNX's.
int64_t first_opset_of(std::string_view op);

}  // namespace trainyard::onnx_io
