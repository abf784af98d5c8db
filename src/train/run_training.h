// A training run from settings to files, the same for all who train: the command, studies over
// several runs, transfer.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runs/run_directory.h"
#include "train/servers/parameter_training.h"
#include "train/trainer.h"

namespace trainyard::train {

struct StartingNetwork {
  Graph graph;
  // Parameters that the weights of the settings do not have, which are therefore drawn.
  std::vector<std::string> drawn;
};
// The network of the settings for the share of the batch that this rank computes, with the weights
// of the settings. A server, which does not compute, has the share of the last worker.
StartingNetwork starting_network(const TrainConfig& config, const data::Dataset& training,
                                 int64_t rank);

// A line about the constants of a network that are not trained though they are no single numbers;
// empty: there are none.
std::string untrained_note(const Graph& model);

// The directory of a run of a study: one that was begun is resumed, and what a process left that
// was killed before it began is removed.
runs::RunDirectory begin_or_resume(const std::filesystem::path& folder, const std::string& name,
                                   const TrainConfig& config);

// What a run is made of; all of it outlives the run.
struct TrainingParts {
  const TrainConfig& config;
  const data::Dataset& training;
  const data::Dataset& test;
  const Graph& model;
  const Task& task;
};

// One rank's part of a run, alone, among workers, or with parameter servers.
class TrainingRun {
 public:
  // Throws Error for what does not fit together, before anything is written.
  TrainingRun(const TrainingParts& subject, dist::Communicator& comm,
              std::string_view version = "");

  // What a step takes; empty: there are parameter servers.
  std::string memory_note() const;

  // As Trainer::run(): `directory` is that of rank 0, where besides the files of the trainer
  // config.yaml, classes.txt and, with `skipped`, skipped.txt are left, and model.onnx says how its
  // pictures are prepared.
  ServerTrainResult run(const runs::RunDirectory* directory, TrainHooks hooks,
                        std::span<const std::string> skipped = {});

 private:
  TrainingParts subject_;
  dist::Communicator& comm_;
  std::unique_ptr<Trainer> trainer_;  // none: there are parameter servers
};

}  // namespace trainyard::train
