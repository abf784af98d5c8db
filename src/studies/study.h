// What studies of several trainings share: a folder that knows its settings, and trainings in it
// that are done once.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "data/dataset.h"
#include "studies/time_to_accuracy.h"
#include "train/reports.h"
#include "train/train_config.h"

namespace trainyard::recipes {

// Whether a run directory is that of a training that came to its end.
bool is_finished(const std::filesystem::path& run);

// Notes the settings ("name: value" lines) in a file of a study's folder, or compares them with
// those that are there. Throws Error with the lines that differ.
void keep_settings(const std::filesystem::path& folder, const std::string& text,
                   const std::string& file = "study.yaml");

// Of metrics.jsonl. Throws Error where no epoch has a top-1.
TrainingLog read_run_log(const std::filesystem::path& run);

struct StudyHooks {
  std::function<bool()> should_stop = {};
  std::function<void(const train::StepReport&)> on_step = {};
  std::function<void(const std::string&)> note = {};
};

// Trains in folder/name unless that has been done, going on where it was interrupted. Targets may
// be classes or probabilities; tests are of classes. Starts from config.weights where there are
// any. Throws Failure if somebody wants to stop.
TrainingLog train_once(const train::TrainConfig& config, const data::Dataset& training,
                       const data::Dataset& test, const std::filesystem::path& folder,
                       const std::string& name, const StudyHooks& hooks);

}  // namespace trainyard::recipes
