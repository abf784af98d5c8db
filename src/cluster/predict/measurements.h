// Published or own measurements: one row of a CSV file each (docs/measurements.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/predict/device.h"
#include "cluster/predict/step.h"

namespace trainyard::predict {

struct Measurement {
  std::string origin;  // file and line
  std::string source;
  std::string framework;  // a software stack of the catalog
  Mode mode = Mode::kTraining;
  std::string device;
  int64_t gpus = 1;
  int64_t gpus_per_host = 1;
  std::string network;  // link between hosts; empty within one host
  std::string model;    // zoo name; ":ungrouped" behind it puts grouped convolutions in one group
  int64_t batch_per_gpu = 1;
  Precision precision = Precision::kFp32;
  std::string comm;
  std::optional<double> images_per_s;  // none: it ran out of memory
  std::string note;
  bool updates = true;  // false: a training step without the update of the weights
};

// Throws Error with file, line and field.
std::vector<Measurement> read_measurements(std::string_view text, const std::string& origin);

// All files of catalog/published.
std::vector<Measurement> published_measurements();

}  // namespace trainyard::predict
