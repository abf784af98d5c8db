// What a run reports on the way and at its end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "train/evaluate.h"
#include "train/progress.h"

namespace trainyard::train {

// After each epoch.
struct EpochReport {
  int64_t epoch = 0;  // from 1
  int64_t step = 0;
  double train_loss = 0;
  std::vector<Score> train_scores;  // the objective's counts and means
  double train_seconds = 0;         // of this epoch, without the test
  double wait_seconds = 0;          // for data
  double exposed_seconds = 0;  // communication that nothing was computed in, mean of the workers
  double images_per_s = 0;
  int64_t tokens = 0;  // of a sample that is a row of them; 0: it is a picture
  double seconds = 0;  // since the run began, tests included, resumed parts added up
  Evaluation test;     // of rank 0's network
  // The score that decides, of the network of every rank; empty unless each is tested.
  std::vector<double> worker_scores;
  std::string sample;  // what the network writes; empty unless it writes texts
  bool best = false;
};

struct TrainHooks {
  std::function<void(const StepReport&)> on_step;  // after each step
  std::function<void(const EpochReport&)> on_epoch;
  // Asked after each step; true: save a checkpoint and stop.
  std::function<bool()> should_stop;
  // A worker is late. May be called by another thread.
  std::function<void(const std::string&)> on_warning;
  // Written into model.onnx; see onnx_io/metadata.h.
  std::map<std::string, std::string> metadata = {};
};

struct TrainResult {
  std::vector<EpochReport> epochs;  // those of this process
  int64_t steps = 0;
  std::optional<Score> best;  // of all epochs; on the rank that leads
  int64_t best_epoch = 0;     // from 1; 0: unknown
  bool exports_best = false;  // the network has the weights of that epoch, not of the last
  bool out_of_patience = false;
  bool interrupted = false;
  std::optional<double> seconds_to_target;
};

}  // namespace trainyard::train
