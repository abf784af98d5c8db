#include "engine/device/device_list.h"
#include "engine/device/vector_target.h"

namespace trainyard::device {

std::vector<std::unique_ptr<VectorTarget>> find_vector_targets(const std::string& wanted) {
  const DeviceList list = list_text_devices();
  std::vector<std::unique_ptr<VectorTarget>> found;
  for (const size_t i : find_devices(list, wanted)) {
    const DeviceInfo& info = list.devices[i];
    found.push_back(info.backend == Backend::kHost ? make_host_target()
                                                   : make_device_target(open_device(info)));
  }
  return found;
}

}  // namespace trainyard::device
