// What runs of reinforcement learning left behind.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "report/document.h"

namespace trainyard::report {

// Runs with the same settings, apart from their seeds.
struct RlGroup {
  std::string name;
  std::vector<std::filesystem::path> directories;
};

// Returns, losses, values and what else metrics.jsonl has, against steps: a line for each group,
// the mean of its runs, with a band from their lowest to their highest. Against time each run is a
// line. What no run has two points of is left out.
std::vector<Chart> rl_charts(std::span<const RlGroup> groups);

// By its settings. Throws Error for a folder that is none of a run.
bool is_rl_run(const std::filesystem::path& directory);

// Runs side by side, those that differ in their seed together. Throws Error naming a folder that is
// none of reinforcement learning, or a run without a line of metrics.
Document rl_runs_document(std::span<const std::filesystem::path> directories);

}  // namespace trainyard::report
