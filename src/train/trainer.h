// Trains a network and leaves a run directory behind.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "data/dataset.h"
#include "dist/communicator.h"
#include "ir/graph.h"
#include "runs/run_directory.h"
#include "train/reports.h"
#include "train/step_memory.h"
#include "train/task.h"
#include "train/train_config.h"

namespace trainyard::train {

// One per worker of a job, made and used by all of them at the same time.
class Trainer {
 public:
  // `model` has this worker's share of the batch, the input shape of the configuration and, if it
  // does not start from scratch, its weights; all arguments must outlive the trainer. Throws Error
  // for what does not fit together, here or between the workers (whose `version` of the program
  // must be the same), before anything is written.
  // The task is config.loss's.
  Trainer(const TrainConfig& config, const Graph& model, const data::Dataset& training,
          const data::Dataset& test, dist::Communicator& comm, std::string_view version = "");
  Trainer(Task task, const TrainConfig& config, const Graph& model, const data::Dataset& training,
          const data::Dataset& test, dist::Communicator& comm, std::string_view version = "");
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // What a step takes, and what became of the limit of the settings, if there is one.
  const StepMemory& memory() const;
  const std::optional<MemoryFit>& memory_fit() const;

  // To be called once; `directory` is rank 0's, null on the others. Resumes from the latest
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
