#include "report/device_list.h"

#include "base/text.h"

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

Json texts_json(const std::vector<std::string>& texts) {
  Json json = Json::array();
  for (const std::string& text : texts) json.push_back(text);
  return json;
}

Json device_json(const device::DeviceInfo& info) {
  return Json::object({{"name", info.name},
                       {"backend", device::backend_name(info.backend)},
                       {"platform", info.platform},
                       {"version", info.version},
                       {"compute_units", info.compute_units},
                       {"max_group", info.max_group},
                       {"memory_bytes", info.memory_bytes},
                       {"shares_host_memory", info.shares_host_memory},
                       {"memory", texts_json(memories_of(info))},
                       {"features", texts_json(info.features)}});
}

}  // namespace

Document device_list_document(const device::DeviceList& list) {
  Document document;
  document.data = Json::object({{"devices", Json::array()},
                                {"opencl_missing", list.opencl_missing},
                                {"cuda_missing", list.cuda_missing}});
  Table table({{"device", Align::kLeft},
               {"units"},
               {"memory"},
               {"largest group"},
               {"vectors reach it by", Align::kLeft},
               {"features", Align::kLeft},
               {"platform and driver", Align::kLeft}});
  for (const device::DeviceInfo& info : list.devices) {
    document.data["devices"].push_back(device_json(info));
    table.add_row({info.name, count_cell(info.compute_units),
                   bytes_cell(static_cast<int64_t>(info.memory_bytes)), count_cell(info.max_group),
                   join(memories_of(info), ", "), join(info.features, ", "),
                   info.version.empty() ? info.platform : info.platform + ", " + info.version});
  }
  document.blocks.emplace_back(std::move(table));
  if (!list.opencl_missing.empty()) {
    document.blocks.emplace_back(Paragraph{"OpenCL: " + list.opencl_missing + "."});
  }
  if (!list.cuda_missing.empty()) {
    document.blocks.emplace_back(Paragraph{"CUDA: " + list.cuda_missing + "."});
  }
  return document;
}

}  // namespace trainyard::report
