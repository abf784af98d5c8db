#include "base/error.h"
#include "base/text.h"
#include "device/opencl_devices.h"
#include "device/vector_target.h"

namespace trainyard::device {

std::vector<std::unique_ptr<VectorTarget>> find_vector_targets(const std::string& wanted) {
  std::vector<std::unique_ptr<VectorTarget>> all;
  all.push_back(make_host_target());
  if (wanted == "cpu") return all;
  for (const OpenClDevice& device : opencl_devices()) all.push_back(make_opencl_target(device));
  if (wanted == "all") return all;
  std::vector<std::string> names;
  std::vector<std::unique_ptr<VectorTarget>> found;
  for (auto& target : all) {
    names.push_back(target->name());
    if (target->name().find(wanted) != std::string::npos) found.push_back(std::move(target));
  }
  TY_REQUIRE(!wanted.empty() && !found.empty(), "no device '{}'; there are {}.{} {}", wanted,
             join(names, "; "), did_you_mean(wanted, names), opencl_missing());
  return found;
}

}  // namespace trainyard::device
