// Devices that OpenCL offers on this machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.h"

namespace trainyard::device {

struct OpenClDevice {
  DeviceInfo info;
  void* id = nullptr;  // of the driver; lives as long as the process
};

// Empty if there is no libOpenCL.so.1, no platform or no device; opencl_missing() says which.
std::vector<OpenClDevice> opencl_devices();
std::string opencl_missing();

std::shared_ptr<Device> open_opencl(const OpenClDevice& device);

}  // namespace trainyard::device
