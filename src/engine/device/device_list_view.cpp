#include <fmt/format.h>

#include "base/text.h"
#include "engine/device/view.h"
#include "report/fields.h"

namespace trainyard::report {
namespace {

// How vectors may reach the device: "copies, fine, coarse".
std::vector<std::string> memories_of(const device::DeviceInfo& info) {
  if (info.backend == device::Backend::kHost) return {"host"};
  std::vector<std::string> names = {"copies"};
  for (const device::Sharing sharing : info.sharings) {
    names.emplace_back(device::sharing_name(sharing));
  }
  return names;
}

Fields<device::DeviceInfo> device_fields() {
  using device::DeviceInfo;
  const auto memory = [](double bytes) { return bytes_cell(static_cast<int64_t>(bytes)); };
  const auto driver = [](const DeviceInfo& info) {
    return Cell(info.version.empty() ? info.platform : info.platform + ", " + info.version);
  };
  return {{"name", {"device", Align::kLeft}, &DeviceInfo::name},
          {"backend", [](const DeviceInfo& info) { return device::backend_name(info.backend); }},
          {"platform", &DeviceInfo::platform},
          {"version", &DeviceInfo::version},
          {"compute_units", {"units"}, &DeviceInfo::compute_units, count_cell},
          {"memory_bytes", {"memory"}, &DeviceInfo::memory_bytes, memory},
          {"max_group", {"largest group"}, &DeviceInfo::max_group, count_cell},
          {"shares_host_memory", &DeviceInfo::shares_host_memory},
          {"memory",
           {"vectors reach it by", Align::kLeft},
           [](const DeviceInfo& info) { return Json::array_of(memories_of(info)); },
           [](const DeviceInfo& info) { return Cell(join(memories_of(info), ", ")); }},
          {"features",
           {"features", Align::kLeft},
           [](const DeviceInfo& info) { return Json::array_of(info.features); },
           [](const DeviceInfo& info) { return Cell(join(info.features, ", ")); }},
          Field<DeviceInfo>::shown({"platform and driver", Align::kLeft}, driver)};
}

}  // namespace

Document device_list_document(const device::DeviceList& list) {
  Document document;
  document.data = Json::object({{"devices", objects_of(device_fields(), list.devices)},
                                {"opencl_missing", list.opencl_missing},
                                {"cuda_missing", list.cuda_missing},
                                {"torch_missing", list.torch_missing}});
  document.blocks.emplace_back(table_of(device_fields(), list.devices));
  const std::pair<const char*, const std::string&> lacks[] = {{"OpenCL", list.opencl_missing},
                                                              {"CUDA", list.cuda_missing},
                                                              {"libtorch", list.torch_missing}};
  for (const auto& [what, missing] : lacks) {
    if (missing.empty()) continue;
    document.blocks.emplace_back(Paragraph{fmt::format("{}: {}.", what, missing)});
  }
  return document;
}

}  // namespace trainyard::report
