// A training run with parameter servers.
#pragma once

#include <vector>

#include "data/dataset.h"
#include "ir/graph.h"
#include "runs/run_directory.h"
#include "train/servers/parameter_server.h"
#include "train/trainer.h"

namespace trainyard::train {

struct WorkerReport {
  StalenessCount staleness;  // by the first server
  int64_t most_ahead = 0;    // gradients ahead of the slowest when it read weights
  double compute_s = 0;
  double wait_s = 0;  // for weights
};

struct ServerReport {
  int64_t elements = 0;  // of parameters
  int64_t pieces = 0;    // parameters or parts of them: requests, as Optimus counts them
  StalenessCount staleness;
};

struct ServerTrainResult {
  TrainResult training;  // steps are updates
  std::vector<WorkerReport> workers;
  std::vector<ServerReport> servers;
};

// One rank's part of a job of config.workers + config.servers ranks; the answer is complete on
// rank 0, which alone uses `directory` (null elsewhere) and `hooks`. A gradient
// is that of an equal share of the batch. An epoch's batches are given out as workers ask for them,
// so that quick ones compute more of them; in synchronous mode worker r computes batch k * workers
// + r in round k: the mean gradient is that of the batch. Between epochs all wait while rank 0
// tests and saves a checkpoint, which a later call resumes from; running statistics then become the
// mean of the workers'.
//
// With config.accumulate a gradient is the mean of so many batches; those left over at the end of
// an epoch are dropped.
//
// The configuration is a checked one; the task is config.loss's unless given. Throws Failure if a
// rank is silent for too long.
ServerTrainResult train_with_servers(dist::Communicator& comm, const TrainConfig& config,
                                     const Graph& model, const data::Dataset& training,
                                     const data::Dataset& test, const runs::RunDirectory* directory,
                                     const TrainHooks& hooks);

ServerTrainResult train_with_servers(const Task& task, dist::Communicator& comm,
                                     const TrainConfig& config, const Graph& model,
                                     const data::Dataset& training, const data::Dataset& test,
                                     const runs::RunDirectory* directory, const TrainHooks& hooks);

}  // namespace trainyard::train
