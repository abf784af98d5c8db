#include "engine/device/opencl_devices.h"

#include "base/text.h"
#include "engine/device/opencl_library.h"

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

// What the driver says and the library can do.
std::vector<Sharing> sharings_of(const cl::Library& cl, cl::Handle id) {
  const auto shared = number_of<uint64_t>(cl, id, cl::kDeviceSharedMemory);
  std::vector<Sharing> sharings;
  if (cl.shared_alloc != nullptr && (shared & cl::kSharedFine) != 0) {
    sharings.push_back(Sharing::kFine);
  }
  if (cl.shared_alloc != nullptr && (shared & cl::kSharedCoarse) != 0) {
    sharings.push_back(Sharing::kCoarse);
  }
  sharings.push_back(Sharing::kMapped);
  return sharings;
}

OpenClDevice describe_opencl(const cl::Library& cl, cl::Handle platform, cl::Handle id) {
  DeviceInfo info;
  info.backend = Backend::kOpenCl;
  info.name = "opencl: " + text_of(cl.device_info, id, cl::kDeviceName);
  info.platform = text_of(cl.platform_info, platform, cl::kPlatformName);
  info.version = text_of(cl.device_info, id, cl::kDeviceVersion) + ", driver " +
                 text_of(cl.device_info, id, cl::kDriverVersion);
  info.shares_host_memory = (number_of<uint64_t>(cl, id, cl::kDeviceType) & cl::kTypeCpu) != 0 ||
                            number_of<uint32_t>(cl, id, cl::kDeviceUnifiedMemory) != 0;
  info.compute_units = number_of<uint32_t>(cl, id, cl::kDeviceComputeUnits);
  info.max_group = static_cast<int64_t>(number_of<size_t>(cl, id, cl::kDeviceMaxWorkGroup));
  info.memory_bytes = static_cast<double>(number_of<uint64_t>(cl, id, cl::kDeviceMemory));
  info.max_allocation_bytes =
      static_cast<double>(number_of<uint64_t>(cl, id, cl::kDeviceMaxAllocation));
  info.sharings = sharings_of(cl, id);
  const auto local = static_cast<double>(number_of<uint64_t>(cl, id, cl::kDeviceLocalMemory));
  info.features.push_back("local memory " + bytes_text(local));
  if (number_of<uint64_t>(cl, id, cl::kDeviceDoubles) != 0) info.features.push_back("doubles");
  return {std::move(info), id};
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
