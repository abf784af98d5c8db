#include "engine/device/device.h"

#include "engine/device/embedded.h"

namespace trainyard::device {

std::shared_ptr<Program> Device::program(const std::string& name) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Program>& known = programs_[name];
  if (known == nullptr) known = build(kernel_text(name));
  return known;
}

}  // namespace trainyard::device
