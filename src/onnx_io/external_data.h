// Tensors whose numbers lie in a file of their own beside the model.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"

namespace trainyard::onnx_io {

// Opens files that a model names. A model may name files in its own folder and below it, and
// nothing else: no absolute path, no "..", no link that leads outside.
class ExternalFiles {
 public:
  // `folder` holds the model; empty: there is none, and every request is refused.
  explicit ExternalFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Throws Error saying why a location is refused. A file is mapped once.
  std::shared_ptr<MappedFile> open(const std::string& location);

 private:
  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<MappedFile>> open_;
};

}  // namespace trainyard::onnx_io
