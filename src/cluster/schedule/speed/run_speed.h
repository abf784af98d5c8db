// The speed of a run that was.
#pragma once

#include <filesystem>

#include "cluster/schedule/speed/speed_model.h"

namespace trainyard::schedule {

// Servers and workers from config.yaml, steps/s from the median step of metrics.jsonl, the first
// tenth (warm-up) left out. Throws Error for what is no run directory.
SpeedPoint speed_of_run(const std::filesystem::path& folder);

}  // namespace trainyard::schedule
