#include "runs/weights/weights_file.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "runs/weights/tflite_file.h"
#include "runs/weights/torch_file.h"

namespace trainyard::runs {
namespace {

class SafetensorsWeights final : public WeightsFile {
 public:
  explicit SafetensorsWeights(const std::filesystem::path& path) : file_(path) {
    for (const StoredTensor& stored : file_.tensors()) {
      tensors_.push_back({stored.name, stored.type});
    }
    for (const auto& [key, value] : file_.metadata()) notes_.push_back({key, value});
  }

  std::string_view format() const override { return "safetensors"; }
  Tensor tensor(size_t index) const override { return file_.tensor(tensors_[index].name); }

 private:
  SafetensorsFile file_;
};

std::span<const std::byte> beginning(const MappedFile& file) {
  return file.bytes().first(std::min<size_t>(file.bytes().size(), kTorchMagicBytes));
}

}  // namespace

bool is_safetensors(const std::filesystem::path& path) {
  const MappedFile file(path);
  return !is_torch_file(beginning(file)) && !is_tflite_file(beginning(file));
}

std::unique_ptr<WeightsFile> open_weights(const std::filesystem::path& path) {
  if (is_safetensors(path)) return std::make_unique<SafetensorsWeights>(path);
  if (is_tflite_file(beginning(MappedFile(path)))) return open_tflite_file(path);
  return open_torch_file(path);
}

}  // namespace trainyard::runs
