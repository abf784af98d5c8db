#include "engine/device/device_list.h"

#include <algorithm>

#include "base/error.h"
#include "base/machine_facts.h"
#include "base/text.h"
#include "engine/device/cuda_devices.h"
#include "engine/device/opencl_devices.h"
#include "engine/device/torch_device.h"
#include "engine/device/torch_library.h"
#include "engine/device/vector_target.h"

namespace trainyard::device {
namespace {

DeviceInfo describe_host() {
  DeviceInfo info;
  info.name = "cpu";
  info.platform = machine_facts().at("processor").as_string();
  info.compute_units = host_cores();
  info.memory_bytes = machine_facts().at("memory_bytes").as_number();
  info.max_allocation_bytes = info.memory_bytes;
  info.max_group = 1;
  info.shares_host_memory = true;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) info.features.emplace_back("AVX2");
  if (__builtin_cpu_supports("avx512f")) info.features.emplace_back("AVX-512");
#endif
  return info;
}

// Devices of a kind may share a name; so the second is called "… #2".
void name_apart(std::vector<DeviceInfo>& devices) {
  for (size_t i = 0; i < devices.size(); ++i) {
    int64_t same = 1;
    const std::string name = devices[i].name;
    for (size_t j = i + 1; j < devices.size(); ++j) {
      if (devices[j].name == name) devices[j].name += fmt::format(" #{}", ++same);
    }
  }
}

bool names_torch(const std::string& wanted) {
  return wanted.starts_with(backend_name(Backend::kTorch));
}

template <typename Offered>
Offered with_name(const std::vector<Offered>& all, const DeviceInfo& info) {
  std::vector<DeviceInfo> infos;
  for (const Offered& one : all) infos.push_back(one.info);
  name_apart(infos);
  for (size_t i = 0; i < all.size(); ++i) {
    if (infos[i].name != info.name) continue;
    Offered found = all[i];
    found.info = info;
    return found;
  }
  throw_failure("{} is no longer there", info.name);
}

}  // namespace

std::string_view backend_name(Backend backend) {
  constexpr std::array<std::string_view, 4> kNames = {"cpu", "opencl", "cuda", "torch"};
  return kNames.at(static_cast<size_t>(backend));
}

std::string_view sharing_name(Sharing sharing) {
  constexpr std::array<std::string_view, 6> kNames = {"copies", "mapped",  "coarse",
                                                      "fine",   "managed", "prefetched"};
  return kNames.at(static_cast<size_t>(sharing));
}

DeviceList list_text_devices() {
  DeviceList list;
  list.devices.push_back(describe_host());
  for (OpenClDevice& device : opencl_devices()) list.devices.push_back(std::move(device.info));
  for (CudaDevice& device : cuda_devices()) list.devices.push_back(std::move(device.info));
  name_apart(list.devices);
  list.opencl_missing = opencl_missing();
  list.cuda_missing = cuda_missing();
  return list;
}

DeviceList list_devices() {
  DeviceList list = list_text_devices();
  for (DeviceInfo& device : torch_devices()) list.devices.push_back(std::move(device));
  list.torch_missing = torch_library_missing();
  return list;
}

std::vector<size_t> find_devices(const DeviceList& list, const std::string& wanted) {
  std::vector<size_t> found;
  std::vector<std::string> names;
  for (size_t i = 0; i < list.devices.size(); ++i) {
    const DeviceInfo& info = list.devices[i];
    names.push_back(info.name);
    const bool of_kind = wanted == backend_name(info.backend);
    const bool is_kind =
        wanted == "cpu" || wanted == "opencl" || wanted == "cuda" || wanted == "torch";
    const bool in_name = !is_kind && !wanted.empty() && info.name.find(wanted) != std::string::npos;
    if (wanted == "all" || of_kind || in_name) found.push_back(i);
  }
  if (!found.empty()) return found;
  const bool of_torch = names_torch(wanted);
  std::string missing;
  if (wanted != "cuda" && !of_torch && !list.opencl_missing.empty()) {
    missing += " OpenCL: " + list.opencl_missing + ".";
  }
  if (wanted != "opencl" && !of_torch && !list.cuda_missing.empty()) {
    missing += " CUDA: " + list.cuda_missing + ".";
  }
  if (of_torch && !list.torch_missing.empty()) {
    missing += " libtorch: " + list.torch_missing + ".";
  } else if (of_torch) {
    missing +=
        " libtorch finds no other: it may be built for processors alone, or the driver of a "
        "GPU is missing.";
  }
  throw_error("no device '{}'; there are {}.{}{}", wanted, join(names, "; "),
              did_you_mean(wanted, names), missing);
}

std::shared_ptr<Device> open_device(const DeviceInfo& info) {
  if (info.backend == Backend::kTorch) return std::make_shared<TorchDevice>(info);
  if (info.backend == Backend::kOpenCl) return open_opencl(with_name(opencl_devices(), info));
  TY_CHECK(info.backend == Backend::kCuda, "'{}' is no device", info.name);
  return open_cuda(with_name(cuda_devices(), info));
}

std::shared_ptr<Device> open_network_device(const std::string& wanted, int64_t worker) {
  if (wanted == backend_name(Backend::kHost)) return nullptr;
  const std::string name = wanted.substr(0, wanted.find(','));
  const DeviceList list = names_torch(name) ? list_devices() : list_text_devices();
  std::vector<DeviceInfo> named;
  for (const size_t i : find_devices(list, name)) {
    if (list.devices[i].backend != Backend::kHost) named.push_back(list.devices[i]);
  }
  TY_REQUIRE(!named.empty(),
             "'{}' names the processors, not a device besides them; 'trainyard device list' shows "
             "those there are",
             name);
  const DeviceInfo& chosen = named[static_cast<size_t>(worker) % named.size()];
  if (name.size() == wanted.size()) return open_device(chosen);
  TY_REQUIRE(chosen.backend == Backend::kTorch, "'{}': only devices of libtorch have precisions",
             wanted);
  return std::make_shared<TorchDevice>(chosen, torch_precision(wanted.substr(name.size() + 1)));
}

std::shared_ptr<Device> open_device(const std::string& wanted) {
  return open_network_device(wanted);
}

}  // namespace trainyard::device
