// Devices that OpenCL offers on this machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/vector_target.h"

namespace trainyard::device {

struct OpenClDevice {
  std::string name;  // "opencl: " and what the driver calls it
  std::string platform;
  std::string version;
  bool is_cpu = false;
  int64_t compute_units = 0;
  int64_t max_work_group = 0;
  double memory_bytes = 0;
  double max_allocation_bytes = 0;
  void* id = nullptr;  // of the driver; lives as long as the process
};

// Empty if there is no libOpenCL.so.1, no platform or no device; opencl_missing() says which.
std::vector<OpenClDevice> opencl_devices();
std::string opencl_missing();

// Builds the kernels. Launches 1x1, 1x256, Nx256; memory copies or unified (mapped buffers).
// Throws Failure, with the compiler's log where it is to blame.
std::unique_ptr<VectorTarget> make_opencl_target(const OpenClDevice& device);

}  // namespace trainyard::device
