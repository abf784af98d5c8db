// Folders as the transformers library keeps its models: config.json, model.safetensors and
// tokenizer.json, in the layouts of GPT-2 and Llama. Names and the order of dimensions are theirs.
#pragma once

#include <filesystem>
#include <string>

#include "ir/graph.h"
#include "models/network.h"
#include "models/onnx/metadata.h"

namespace trainyard::network {

// Whether the path is such a folder.
bool is_hugging_face(const std::string& path);

// The network of such a folder; of the request batch and length count (0: 256, or as many positions
// as there are). Throws Error naming file and setting for what is not supported.
Graph load_hugging_face(const Request& request);

// Its tokenizer, and the token that ends a text.
onnx_io::Metadata hugging_face_metadata(const std::string& folder);

// What a graph of the zoo says of its form beside its weights, for a file in which the nodes that
// know it are written out as others; of a graph from such a file what it says of itself (`known`).
// Nothing for networks of other layouts.
void note_form(const Graph& graph, const onnx_io::Metadata& known, onnx_io::Metadata& metadata);

struct HuggingFaceFiles {
  std::string tokenizer = {};  // the text of tokenizer.json; empty: there is none
  uint64_t seed = 0;           // of weights that are still to be drawn
};
// Writes config.json, model.safetensors and tokenizer.json. Throws Error for a network of another
// layout.
void write_hugging_face(const Graph& graph, const onnx_io::Metadata& metadata,
                        const HuggingFaceFiles& files, const std::filesystem::path& folder);

}  // namespace trainyard::network
