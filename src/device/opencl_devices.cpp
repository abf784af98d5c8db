#include "device/opencl_devices.h"

#include "device/opencl_library.h"

namespace trainyard::device {
namespace {

template <typename Function>
std::string text_of(Function info, cl::Handle object, uint32_t key) {
  size_t size = 0;
  if (info(object, key, 0, nullptr, &size) != 0 || size == 0) return "";
  std::string text(size, '\0');
  if (info(object, key, size, text.data(), nullptr) != 0) return "";
  return text.substr(0, text.find('\0'));
}

template <typename Number>
Number number_of(const cl::Library& cl, cl::Handle device, uint32_t key) {
  Number number = 0;
  return cl.device_info(device, key, sizeof(number), &number, nullptr) == 0 ? number : 0;
}

std::vector<cl::Handle> platforms(const cl::Library& cl) {
  uint32_t count = 0;
  if (cl.get_platforms(0, nullptr, &count) != 0) return {};
  std::vector<cl::Handle> found(count);
  if (count > 0 && cl.get_platforms(count, found.data(), nullptr) != 0) return {};
  return found;
}

OpenClDevice describe_opencl(const cl::Library& cl, cl::Handle platform, cl::Handle id) {
  OpenClDevice device;
  device.name = "opencl: " + text_of(cl.device_info, id, cl::kDeviceName);
  device.platform = text_of(cl.platform_info, platform, cl::kPlatformName);
  device.version = text_of(cl.device_info, id, cl::kDeviceVersion);
  device.is_cpu = (number_of<uint64_t>(cl, id, cl::kDeviceType) & cl::kTypeCpu) != 0;
  device.compute_units = number_of<uint32_t>(cl, id, cl::kDeviceComputeUnits);
  device.max_work_group = static_cast<int64_t>(number_of<size_t>(cl, id, cl::kDeviceMaxWorkGroup));
  device.memory_bytes = static_cast<double>(number_of<uint64_t>(cl, id, cl::kDeviceMemory));
  device.max_allocation_bytes =
      static_cast<double>(number_of<uint64_t>(cl, id, cl::kDeviceMaxAllocation));
  device.id = id;
  return device;
}

}  // namespace

std::vector<OpenClDevice> opencl_devices() {
  const cl::Library* cl = cl::library();
  if (cl == nullptr) return {};
  std::vector<OpenClDevice> devices;
  for (cl::Handle platform : platforms(*cl)) {
    uint32_t count = 0;
    if (cl->get_devices(platform, cl::kAllDevices, 0, nullptr, &count) != 0 || count == 0) continue;
    std::vector<cl::Handle> ids(count);
    if (cl->get_devices(platform, cl::kAllDevices, count, ids.data(), nullptr) != 0) continue;
    for (cl::Handle id : ids) devices.push_back(describe_opencl(*cl, platform, id));
  }
  return devices;
}

std::string opencl_missing() {
  const cl::Library* cl = cl::library();
  if (cl == nullptr) return "libOpenCL.so.1 cannot be opened (Debian: ocl-icd-libopencl1)";
  if (platforms(*cl).empty()) {
    return "OpenCL has no platform (Debian: pocl-opencl-icd for the CPU, or the driver of a GPU)";
  }
  return opencl_devices().empty() ? "the platforms of OpenCL have no device" : "";
}

}  // namespace trainyard::device
