// A model that is built again and again: read once, with all the files it names.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/wire.h"
#include "models/onnx/import.h"

namespace trainyard::onnx_io {

class ExternalFiles;
struct FileGraph;

// Every graph it gives has the same weights, whatever happens to the files meanwhile. Several
// threads may use it.
class ModelSnapshot {
 public:
  // Throws Error if the file cannot be read.
  explicit ModelSnapshot(const std::filesystem::path& path);
  // The bytes of a file that lies nowhere; `origin` stands for its name in errors. It may not name
  // other files.
  ModelSnapshot(std::string bytes, const std::string& origin);
  ~ModelSnapshot();
  ModelSnapshot(const ModelSnapshot&) = delete;
  ModelSnapshot& operator=(const ModelSnapshot&) = delete;

  Bytes bytes() const;
  // What the file says. Throws Error without its name. The first call reads external data.
  FileGraph read() const;
  // Throws Error naming the file.
  Graph import(const ImportOptions& options) const;

 private:
  std::filesystem::path path_;
  std::string bytes_;
  std::shared_ptr<ExternalFiles> files_;
};

}  // namespace trainyard::onnx_io
