// Predictions for the measured machine against networks that run on it now.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/predict/catalog.h"
#include "engine/device/device.h"
#include "studies/calibration/machine_rows.h"

namespace trainyard::measure {

struct ThisMachineOptions {
  std::shared_ptr<device::Device> device = {};  // of libtorch; null: our engine
  std::vector<std::string> networks = {};       // empty: those that the goals are set for
  int64_t runs = 7;
  std::function<void(const MachineRow&)> begins = {};  // called before each measurement
};

// Inference at batch 1 and 8 and training steps, with the threads that the machine was measured
// with. Throws Error if it, or the device, was not measured.
std::vector<MachineRow> validate_this_machine(const predict::Catalog& catalog,
                                              const ThisMachineOptions& options);

}  // namespace trainyard::measure
