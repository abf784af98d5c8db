#include "engine/device/torch_device.h"

#include <algorithm>

#include "base/error.h"
#include "base/machine_facts.h"
#include "engine/device/cuda_devices.h"
#include "engine/device/torch_library.h"
#include "engine/device/vector_target.h"

namespace trainyard::device {
namespace {

constexpr std::string_view kPrefix = "torch:";
constexpr std::string_view kGpu = "torch:cuda:";

// libtorch counts GPUs as CUDA's driver does.
void add_gpu_facts(DeviceInfo& info) {
  const std::string number = info.name.substr(kGpu.size());
  for (const CudaDevice& gpu : cuda_devices()) {
    if (std::to_string(gpu.id) != number) continue;
    info.compute_units = gpu.info.compute_units;
    info.memory_bytes = gpu.info.memory_bytes;
    info.max_allocation_bytes = gpu.info.max_allocation_bytes;
    info.clock_hz = gpu.info.clock_hz;
    info.features.push_back(gpu.info.name);
  }
}

class TorchBuffer final : public Buffer {
 public:
  TorchBuffer(TorchDevice& device, size_t bytes) : device_(device), bytes_(bytes) {
    address_ = device.torch().allocate(device.handle(), static_cast<int64_t>(bytes));
    device.check(address_ == nullptr ? 1 : 0, "memory");
  }
  ~TorchBuffer() override { device_.torch().release(device_.handle(), address_); }

  std::byte* address() const override { return static_cast<std::byte*>(address_); }
  size_t bytes() const override { return bytes_; }
  std::byte* open() override { throw_failure("memory of libtorch is copied, not shared"); }
  void close() override {}

 private:
  TorchDevice& device_;
  size_t bytes_;
  void* address_ = nullptr;
};

}  // namespace

std::vector<DeviceInfo> torch_devices() {
  const TorchInterface* torch = torch_library();
  if (torch == nullptr) return {};
  std::vector<DeviceInfo> devices;
  for (const char* const* name = torch->devices(); *name != nullptr; ++name) {
    DeviceInfo info;
    info.backend = Backend::kTorch;
    info.name = std::string(kPrefix) + *name;
    // "libtorch 1.13.0"
    const std::string library = torch->library;
    info.platform = library.substr(0, library.find(' '));
    info.version = library.substr(std::min(info.platform.size() + 1, library.size()));
    info.max_group = 1;
    if (info.name.starts_with(kGpu)) add_gpu_facts(info);
    if (info.name == "torch:cpu") {
      info.compute_units = host_cores();
      info.memory_bytes = machine_facts().at("memory_bytes").as_number();
    }
    devices.push_back(std::move(info));
  }
  return devices;
}

TorchPrecision torch_precision(const std::string& name) {
  if (name == "f32") return kTorchFull;
  if (name == "tf32") return kTorchTF32;
  if (name == "bf16") return kTorchBF16Products;
  TY_REQUIRE(name == "f16",
             "precision '{}' of a device of libtorch is not one of f32, tf32, bf16, f16", name);
  return kTorchF16Products;
}

bool computes_in_f16(const Device* device) {
  const auto* torch = dynamic_cast<const TorchDevice*>(device);
  return torch != nullptr && torch->precision() == kTorchF16Products;
}

TorchDevice::TorchDevice(DeviceInfo info, TorchPrecision precision)
    : torch_(*torch_library()), info_(std::move(info)), precision_(precision) {
  handle_ = torch_.open(info_.name.substr(kPrefix.size()).c_str());
  check(handle_ == nullptr ? 1 : 0, "opening it");
  const int32_t refused = torch_.set_precision(handle_, precision);
  if (refused == 0) return;
  torch_.close(handle_);
  check(refused, "the precision");
}

TorchDevice::~TorchDevice() {
  torch_.close(handle_);
}

std::unique_ptr<Buffer> TorchDevice::allocate(size_t bytes, Sharing) {
  return std::make_unique<TorchBuffer>(*this, bytes);
}

std::shared_ptr<Program> TorchDevice::build(const std::string&) {
  throw_failure("{} computes nodes and compiles no texts", info_.name);
}

void TorchDevice::write(void* to, const void* from, size_t bytes) {
  check(torch_.write(handle_, to, from, static_cast<int64_t>(bytes)), "a copy to it");
}

void TorchDevice::read(void* to, const void* from, size_t bytes) {
  check(torch_.read(handle_, to, from, static_cast<int64_t>(bytes)), "a copy from it");
}

std::unique_ptr<Event> TorchDevice::launch(Kernel&, const Grid&, std::span<const Argument>, bool) {
  throw_failure("{} computes nodes and launches no kernels", info_.name);
}

void TorchDevice::finish() {
  check(torch_.finish(handle_), "waiting for it");
}

void TorchDevice::check(int32_t code, const char* what) const {
  if (code == 0) return;
  throw_failure("{}: {} failed: {}", info_.name, what, torch_.error());
}

}  // namespace trainyard::device
