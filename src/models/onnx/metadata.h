// What a model file says of itself beside the graph: pairs of text (metadata_props).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/wire.h"

namespace trainyard::onnx_io {

using Metadata = std::map<std::string, std::string>;

// Keys that this project writes: the names of the classes, one a line; the steps from picture to
// input as data::Augmentations takes them; and the shape of pictures before these, as 1x28x28.
inline constexpr const char* kClassesKey = "trainyard.classes";
inline constexpr const char* kStepsKey = "trainyard.preprocessing";
inline constexpr const char* kPictureKey = "trainyard.picture";
// Of a detector whose priors are not SSD's: their shapes as detect::parse_shapes() takes them.
inline constexpr const char* kPriorsKey = "trainyard.priors";

// Of a language model: what its tokens mean, data::kByteTokens or a file of the run directory; and
// the token that opens a document.
inline constexpr const char* kTokenizerKey = "trainyard.tokenizer";
inline constexpr const char* kEndOfTextKey = "trainyard.end_of_text";

// Reads the pairs alone, whatever the size of the weights. Throws Error if the file is no model.
Metadata read_metadata(const std::filesystem::path& path);
// The same for a file in memory; `origin` names it in errors.
Metadata read_metadata(Bytes file, std::string_view origin);

// Of kClassesKey; empty if the model does not say.
std::vector<std::string> class_names(const Metadata& metadata);

}  // namespace trainyard::onnx_io
