// The same training several times, each with a seed of its own and in a process of its own.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "train/train_config.h"

namespace trainyard::recipes {

struct SeedRunsOptions {
  std::string program = {};           // this one
  std::filesystem::path folder = {};  // of the study: seed-1/, seed-2/, … are run directories
  std::vector<int64_t> seeds = {};
  int64_t side_by_side = 1;  // trainings at once, which share the processors
  bool quiet = false;
  std::function<bool()> should_stop = {};
  std::function<void(const std::string&)> note = {};
};

// Trains what is not there yet: a run that ended stays, one that was interrupted is resumed. Throws
// Error if the folder holds another study, Failure if a training fails or somebody wants to stop;
// what was trained is then kept.
void train_seeds(const train::TrainConfig& config, const SeedRunsOptions& options);

std::filesystem::path seed_folder(const std::filesystem::path& study, int64_t seed);

}  // namespace trainyard::recipes
