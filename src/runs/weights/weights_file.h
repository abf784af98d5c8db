// Files of weights, whoever wrote them: tensors by name, and what else stands beside them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runs/safetensors.h"
#include "tensor/tensor.h"

namespace trainyard::runs {

// A number or a text that is no tensor: an epoch, an accuracy, a comment.
struct WeightsNote {
  std::string name;
  std::string value;
};

class WeightsFile {
 public:
  WeightsFile() = default;
  virtual ~WeightsFile() = default;
  WeightsFile(const WeightsFile&) = delete;
  WeightsFile& operator=(const WeightsFile&) = delete;

  // "safetensors", "PyTorch (zip)", …
  virtual std::string_view format() const = 0;
  // The same kind of tensor under the same names every time; names differ.
  const std::vector<NamedType>& tensors() const { return tensors_; }
  // Whether names say nothing, but the order of the layers does.
  virtual bool is_ordered() const { return false; }
  const std::vector<WeightsNote>& notes() const { return notes_; }
  // As it was opened, for messages.
  const std::string& path() const { return path_; }
  // Of tensors()[index]. May share the mapping of the file: clone() before writing. Throws Error
  // if the bytes are damaged.
  virtual Tensor tensor(size_t index) const = 0;

 protected:
  std::vector<NamedType> tensors_;
  std::vector<WeightsNote> notes_;

 private:
  friend std::unique_ptr<WeightsFile> open_weights(const std::filesystem::path& path);
  std::string path_;
};

// Whether `path` is a file of ours (safetensors) judging by how it begins.
bool is_safetensors(const std::filesystem::path& path);

// Throws Error with file and byte if it is none of safetensors, PyTorch's two formats and
// TensorFlow Lite's, or is damaged.
std::unique_ptr<WeightsFile> open_weights(const std::filesystem::path& path);

// Numbers that are infinite or none; 0 for integers.
int64_t count_not_finite(const Tensor& tensor);

}  // namespace trainyard::runs
