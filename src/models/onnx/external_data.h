// Tensors whose numbers lie in a file of their own beside the model.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/wire.h"

namespace trainyard::onnx_io {

// Opens files that a model names. A model may name files in its own folder and below it, and
// nothing else: no absolute path, no "..", no link that leads outside.
class ExternalFiles {
 public:
  enum class Form : uint8_t {
    kMapped,  // pages are shared with the page cache; the file must not shrink
    kHeld,    // read into memory when it is first opened, and the same ever after
  };
  // `folder` holds the model; empty: there is none, and every request is refused.
  explicit ExternalFiles(std::filesystem::path folder, Form form = Form::kMapped)
      : folder_(std::move(folder)), form_(form) {}

  struct Content {
    Bytes bytes;
    std::shared_ptr<void> owner;  // who may share the bytes; null: they are to be copied
  };
  // Throws Error saying why a location is refused. A file is opened once. Several threads may ask.
  Content open(const std::string& location);

 private:
  std::filesystem::path folder_;
  Form form_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<MappedFile>> mapped_;
  std::map<std::string, std::string> held_;
};

}  // namespace trainyard::onnx_io
