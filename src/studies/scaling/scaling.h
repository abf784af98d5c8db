// Measures how training time changes with workers and batch.
#pragma once

#include <cstdint>

#include "data/dataset.h"
#include "dist/communicator.h"
#include "ir/graph.h"
#include "studies/scaling/scale_rows.h"
#include "train/train_config.h"

namespace trainyard::measure {

struct ScaleTask {
  int64_t steps = 0;  // to warm up, and as many to measure; 0: an epoch each
  // Weights move, but by default not so that a run on random labels could diverge.
  double rate = 1e-6;
};

// Called by all ranks of a job at the same time; the answer is the same on each. The configuration
// has the batch of all workers; `model` has this rank's share of it. Weights change as in training.
ScalePoint measure_scale_point(dist::Communicator& comm, const train::TrainConfig& config,
                               const Graph& model, const data::Dataset& training,
                               const ScaleTask& task);

// Bytes that training `model` (of the configuration's batch) takes by the plan of the engine:
// values, parameters and their state, constants and batches. Kernels' own copies are not counted.
int64_t planned_memory(const train::TrainConfig& config, const Graph& model);

}  // namespace trainyard::measure
