#include "runs/weights/weights_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "runs/weights/tflite_file.h"
#include "runs/weights/torch_file.h"
#include "tensor/half.h"

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

template <typename T>
int64_t count_not_finite_in(std::span<const T> values) {
  return std::count_if(values.begin(), values.end(), [](T value) { return !std::isfinite(value); });
}

}  // namespace

bool is_safetensors(const std::filesystem::path& path) {
  const MappedFile file(path);
  return !is_torch_file(beginning(file)) && !is_tflite_file(beginning(file));
}

std::unique_ptr<WeightsFile> open_weights(const std::filesystem::path& path) {
  std::unique_ptr<WeightsFile> file;
  if (is_safetensors(path)) {
    file = std::make_unique<SafetensorsWeights>(path);
  } else if (is_tflite_file(beginning(MappedFile(path)))) {
    file = open_tflite_file(path);
  } else {
    file = open_torch_file(path);
  }
  file->path_ = path.string();
  return file;
}

int64_t count_not_finite(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF32:
      return count_not_finite_in(tensor.values<float>());
    case DType::kF64:
      return count_not_finite_in(tensor.values<double>());
    case DType::kF16:
      return count_not_finite_in(tensor.values<F16>());
    case DType::kBF16:
      return count_not_finite_in(tensor.values<BF16>());
    default:
      return 0;
  }
}

}  // namespace trainyard::runs
