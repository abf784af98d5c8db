// The document of `trainyard validate --this`.
#pragma once

#include <span>

#include "cluster/predict/device.h"
#include "report/document.h"
#include "studies/calibration/machine_rows.h"

namespace trainyard::report {

// {rows: [{network, mode, batch, measured_images_per_s, fastest_images_per_s,
// predicted_images_per_s, error}], device, calibrated, mape, mape_inference, mape_training}
Document this_machine_document(const predict::Device& device,
                               std::span<const measure::MachineRow> rows);

}  // namespace trainyard::report
