// What a run kept busy in the last minute of utilization.jsonl.
#pragma once

#include <filesystem>
#include <optional>

namespace trainyard::runs {

struct ResourceSummary {
  double memory_bytes = 0;  // that the process held, at most
  double process = 0;       // of all processors: 0 to 1
  double others = 0;        // what other processes used of them
};

// Nothing without samples.
std::optional<ResourceSummary> read_resource_summary(const std::filesystem::path& run);

}  // namespace trainyard::runs
