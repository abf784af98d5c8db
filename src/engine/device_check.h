// Every kernel of a device against the reference.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.h"

namespace trainyard::measure {

struct DeviceCheck {
  std::string op;
  std::string what;        // of several cases of an operator: "transposed", "groups"
  std::string kernel;      // that computed it; empty if the device did not
  double worst_error = 0;  // |device - reference| / (1 + |reference|) over all elements
  bool passed = false;
  std::string problem = {};  // why not
};

// Runs small graphs of one node each, at least one for every operator that devices have a kernel
// for (TY_CHECKed). A failure of the device is a problem of its case; it is not thrown.
std::vector<DeviceCheck> check_device(const std::shared_ptr<device::Device>& device);

}  // namespace trainyard::measure
