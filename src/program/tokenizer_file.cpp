#include "program/tokenizer_file.h"

#include <filesystem>

#include "data/text/token_set.h"

namespace trainyard::cli {

std::string tokenizer_of(const std::string& model, const onnx_io::Metadata& metadata) {
  const auto found = metadata.find(onnx_io::kTokenizerKey);
  if (found == metadata.end() || found->second == data::kByteTokens) {
    return found == metadata.end() ? "" : found->second;
  }
  const std::filesystem::path place(model);
  const std::filesystem::path folder =
      std::filesystem::is_directory(place) ? place : place.parent_path();
  // A name from a file must not lead out of the folder.
  return (folder / std::filesystem::path(found->second).filename()).string();
}

}  // namespace trainyard::cli
