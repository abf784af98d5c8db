// Sequences and optional values of a file, before its graph is made: each becomes the list of its
// elements, whose length is known, so that nothing after the import knows of them.
#pragma once

#include "models/onnx/import.h"
#include "models/onnx/model_reader.h"

namespace trainyard::onnx_io {

bool is_sequence_operator(const std::string& op);

// `graph` with tensors only. An input that is a sequence or optional becomes one input for each
// element, "x[0]", "x[1]", …, as `options.lists` says; so do outputs. SequenceMap and loops that
// carry sequences are unrolled. Throws Error naming the node if a position, a length or the number
// of rounds is only known at run time. Does nothing to a graph without sequences.
void replace_sequences(FileGraph& graph, const ImportOptions& options);

}  // namespace trainyard::onnx_io
