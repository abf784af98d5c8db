// Predictions that a page asks for: the same words and the same answer as `predict --json`.
#pragma once

#include <map>
#include <string>

#include "base/json.h"

namespace trainyard::cli {

// `model` is the name of a built-in network; the others are flags of predict without hyphens in
// front, as device=v100. Throws Error for a name that is no such flag, for one that would read a
// file, and for what predict refuses.
std::string predict_json(const std::map<std::string, std::string>& query);

// A step of a training with these settings (config.yaml) on a device of the catalog: "step_ms",
// "input_ms", "exposed_ms", "compute_ms" and "memory_bytes", all predicted. Null for networks that
// are not built in, and where the device is not known.
Json predict_run(const Json& settings, const std::string& device);

}  // namespace trainyard::cli
