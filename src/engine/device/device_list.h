// The devices of this machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.h"

namespace trainyard::device {

struct DeviceList {
  // The processors first.
  std::vector<DeviceInfo> devices;
  // What keeps OpenCL, CUDA and libtorch from offering any device, and what to install; empty if
  // they do.
  std::string opencl_missing;
  std::string cuda_missing;
  std::string torch_missing;
};

DeviceList list_devices();
// Without those of libtorch, whose library takes a moment to load: what runs texts of kernels.
DeviceList list_text_devices();

// The positions of devices that `wanted` names: "cpu", "opencl", "cuda" and "torch" are every
// device of the kind, "all" is every one, anything else a part of a name. Throws Error that lists
// those there are and says what is missing.
std::vector<size_t> find_devices(const DeviceList& list, const std::string& wanted);

// The first device that `wanted` names that is not the processors; as find_devices(). Throws
// Failure if the driver does not let it be used.
std::shared_ptr<Device> open_device(const std::string& wanted);
// Where a worker's network runs: null for "cpu", else the one of those named whose turn it is, so
// that workers of one machine share its GPUs evenly. One of libtorch may be followed by the
// precision of its products: "torch:cuda,tf32", "torch:cpu,bf16", "torch:cuda,f16".
std::shared_ptr<Device> open_network_device(const std::string& wanted, int64_t worker = 0);
std::shared_ptr<Device> open_device(const DeviceInfo& info);

}  // namespace trainyard::device
