#include "engine/device/cuda_devices.h"

#include <array>

#include <fmt/core.h>

#include "base/text.h"
#include "engine/device/cuda_library.h"
#include "engine/device/nvrtc.h"

namespace trainyard::device {
namespace {

int32_t attribute_of(const cuda::Library& cu, int32_t id, int32_t attribute) {
  int32_t value = 0;
  return cu.attribute(&value, attribute, id) == 0 ? value : 0;
}

// 0, or why the driver cannot be used.
int32_t start_driver(const cuda::Library& cu) {
  static const int32_t kCode = cu.init(0);
  return kCode;
}

std::string code_text(const cuda::Library& cu, int32_t code) {
  const char* text = nullptr;
  cu.error_text(code, &text);
  return fmt::format("code {}: {}", code, text != nullptr ? text : "no text");
}

std::string driver_text(const cuda::Library& cu) {
  int32_t version = 0;
  if (cu.driver_version(&version) != 0) return "";
  return fmt::format("driver for CUDA {}.{}", version / 1000, version % 1000 / 10);
}

CudaDevice describe_cuda(const cuda::Library& cu, int32_t id) {
  CudaDevice device;
  device.id = id;
  const auto attribute = [&](int32_t key) { return attribute_of(cu, id, key); };
  device.capability = attribute(cuda::kMajor) * 10 + attribute(cuda::kMinor);
  std::array<char, 256> name = {};
  cu.device_name(name.data(), static_cast<int32_t>(name.size() - 1), id);
  size_t memory = 0;
  cu.device_memory(&memory, id);
  DeviceInfo& info = device.info;
  info.backend = Backend::kCuda;
  info.name = fmt::format("cuda: {}", name.data());
  info.platform = "NVIDIA CUDA";
  info.version = driver_text(cu);
  info.compute_units = attribute(cuda::kComputeUnits);
  info.max_group = attribute(cuda::kMaxGroup);
  info.memory_bytes = static_cast<double>(memory);
  info.max_allocation_bytes = static_cast<double>(memory);
  info.clock_hz = 1e3 * attribute(cuda::kClockKhz);
  info.shares_host_memory = attribute(cuda::kIntegrated) != 0;
  if (attribute(cuda::kManagedMemory) != 0) {
    // Only pages that both sides may touch at any time can be sent ahead.
    if (attribute(cuda::kConcurrentManaged) != 0) info.sharings.push_back(Sharing::kPrefetched);
    info.sharings.push_back(Sharing::kManaged);
  }
  info.features.push_back(
      fmt::format("compute capability {}.{}", device.capability / 10, device.capability % 10));
  info.features.push_back("local memory " +
                          bytes_text(static_cast<double>(attribute(cuda::kLocalMemory))));
  const std::string nvrtc = nvrtc_version();
  info.features.push_back(nvrtc.empty() ? "no NVRTC" : "NVRTC " + nvrtc);
  return device;
}

int32_t count_cuda(const cuda::Library& cu) {
  int32_t count = 0;
  return start_driver(cu) == 0 && cu.device_count(&count) == 0 ? count : 0;
}

}  // namespace

std::vector<CudaDevice> cuda_devices() {
  const cuda::Library* cu = cuda::library();
  if (cu == nullptr) return {};
  std::vector<CudaDevice> devices;
  for (int32_t i = 0; i < count_cuda(*cu); ++i) {
    int32_t id = 0;
    if (cu->get_device(&id, i) == 0) devices.push_back(describe_cuda(*cu, id));
  }
  return devices;
}

std::string cuda_missing() {
  const cuda::Library* cu = cuda::library();
  if (cu == nullptr) {
    return "libcuda.so.1 cannot be opened or is too old (it comes with NVIDIA's driver)";
  }
  const int32_t code = start_driver(*cu);
  if (code != 0) return "CUDA's driver does not start (" + code_text(*cu, code) + ")";
  return count_cuda(*cu) == 0 ? "CUDA's driver finds no device" : "";
}

}  // namespace trainyard::device
