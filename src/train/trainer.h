// Trains a network and leaves a run directory behind.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "dist/communicator.h"
#include "ir/graph.h"
#include "runs/run_directory.h"
#include "train/evaluate.h"
#include "train/progress.h"
#include "train/train_config.h"

namespace trainyard::train {

// After each epoch.
struct EpochReport {
  int64_t epoch = 0;  // from 1
  int64_t step = 0;
  double train_loss = 0;
  double train_accuracy = 0;
  double train_seconds = 0;    // of this epoch, without the test
  double wait_seconds = 0;     // for data
  double exposed_seconds = 0;  // communication that nothing was computed in, mean of the workers
  double images_per_s = 0;
  double seconds = 0;  // since the run began, tests included, resumed parts added up
  Evaluation test;
  bool best = false;
};

struct TrainHooks {
  std::function<void(const StepReport&)> on_step;  // after each step
  std::function<void(const EpochReport&)> on_epoch;
  // Asked after each step; true: save a checkpoint and stop.
  std::function<bool()> should_stop;
  // A worker is late. May be called by another thread.
  std::function<void(const std::string&)> on_warning;
};

struct TrainResult {
  std::vector<EpochReport> epochs;  // those of this process
  int64_t steps = 0;
  double best_top1 = 0;
  bool interrupted = false;
  std::optional<double> seconds_to_target;
};

// One per worker of a job, made and used by all of them at the same time.
class Trainer {
 public:
  // `model` has this worker's share of the batch, the input shape of the configuration and, if it
  // does not start from scratch, its weights; all arguments must outlive the trainer. Throws Error
  // for what does not fit together, here or between the workers (whose `version` of the program
  // must be the same), before anything is written.
  Trainer(const TrainConfig& config, const Graph& model, const data::Dataset& training,
          const data::Dataset& test, dist::Communicator& comm, std::string_view version = "");
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // To be called once; `directory` is rank 0's, null on the others. Goes on from the latest
  // checkpoint if the directory has one: the weights at the end are those of an uninterrupted run,
  // bit by bit. Writes metrics.jsonl, event files, checkpoints, and at the end model.onnx and
  // model.safetensors. Throws Failure if the loss is no longer finite, naming the step and the
  // first bad result; the last checkpoint is then still there. `hooks` are called on the rank that
  // has them; it is enough if one wants to stop.
  TrainResult run(const runs::RunDirectory* directory, const TrainHooks& hooks);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trainyard::train
