// Devices that CUDA's driver offers on this machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.h"

namespace trainyard::device {

struct CudaDevice {
  DeviceInfo info;
  int32_t id = 0;
  int32_t capability = 0;  // 75 for 7.5
};

// Empty if there is no libcuda.so.1 or if it finds no device; cuda_missing() says which.
std::vector<CudaDevice> cuda_devices();
std::string cuda_missing();

std::shared_ptr<Device> open_cuda(const CudaDevice& device);

}  // namespace trainyard::device
