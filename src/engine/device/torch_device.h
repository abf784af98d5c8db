// Devices that libtorch offers: the processors, and the GPUs that it was built for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/torch_interface.h"

namespace trainyard::device {

// Empty without the plugin; torch_library_missing() says why.
std::vector<DeviceInfo> torch_devices();

// "f32", "tf32", "bf16", "f16". Throws Error that lists them.
TorchPrecision torch_precision(const std::string& name);

// Whether it rounds factors to f16, whose range gradients leave unless the loss is scaled. Null, or
// no device of libtorch: it does not.
bool computes_in_f16(const Device* device);

// Its kernels are nodes (kernels/torch), not texts: build() and launch() throw Failure.
class TorchDevice final : public Device {
 public:
  // `info` is one of torch_devices(). Throws Failure where the device cannot compute so.
  explicit TorchDevice(DeviceInfo info, TorchPrecision precision = kTorchFull);
  ~TorchDevice() override;

  const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Buffer> allocate(size_t bytes, Sharing sharing) override;
  std::shared_ptr<Program> build(const std::string& text) override;
  void write(void* to, const void* from, size_t bytes) override;
  void read(void* to, const void* from, size_t bytes) override;
  std::unique_ptr<Event> launch(Kernel& kernel, const Grid& grid,
                                std::span<const Argument> arguments, bool timed) override;
  void finish() override;

  const TorchInterface& torch() const { return torch_; }
  TorchPrecision precision() const { return precision_; }
  void* handle() const { return handle_; }
  // Throws Failure with what libtorch says, unless `code` is 0.
  void check(int32_t code, const char* what) const;

 private:
  const TorchInterface& torch_;
  DeviceInfo info_;
  TorchPrecision precision_;
  void* handle_ = nullptr;
};

}  // namespace trainyard::device
