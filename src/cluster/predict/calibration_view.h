// What `trainyard calibrate` and `trainyard devices show this` print of a measured machine.
#pragma once

#include <span>

#include "base/json.h"
#include "cluster/predict/device.h"
#include "cluster/predict/measured_fit.h"
#include "report/table.h"

namespace trainyard::report {

// Speeds by family and pass, with the error of the fit where there are samples.
Table measured_costs_table(const predict::MeasuredCosts& costs, const predict::Device& device,
                           std::span<const predict::MeasuredSample> samples = {});
Json measured_costs_json(const predict::MeasuredCosts& costs);
// Every sample: its terms, measured and fitted seconds.
Json samples_json(std::span<const predict::MeasuredSample> samples,
                  const predict::MeasuredCosts& costs);

}  // namespace trainyard::report
