// The tokenizer that goes with MODEL.
#pragma once

#include <string>

#include "models/onnx/metadata.h"

namespace trainyard::cli {

// What the tokens of MODEL mean: data::kByteTokens, or the file in the run or beside the model;
// empty: the model does not say.
std::string tokenizer_of(const std::string& model, const onnx_io::Metadata& metadata);

}  // namespace trainyard::cli
