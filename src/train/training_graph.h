// From a network to the graph of one training step: forward, loss, backward and the update of every
// parameter, all as nodes of one graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/state_update.h"
#include "ops/autodiff/recompute.h"
#include "train/objective.h"
#include "train/train_config.h"

namespace trainyard::train {

struct OptimizerOptions {
  std::string kind = "sgd";  // one of optimizer_names()
  double momentum = 0.9;     // sgd, lars, muon
  bool nesterov = false;     // sgd
  double beta1 = 0.9;        // adam, adamw, lion, lamb, muon
  double beta2 = 0.999;
  double lion_beta2 = 0.99;
  double epsilon = 1e-8;  // adam, adamw, adagrad, muon
  double lamb_epsilon = 1e-6;
  double decay = 0.95;        // rmsprop, of its running means
  double rms_epsilon = 0.01;  // rmsprop
  double weight_decay = 0;
  bool decay_all = true;     // false: biases and normalization parameters do not decay
  double trust = 0.001;      // lars
  double clip_norm = 0;      // scale gradients down to this common norm; 0: leave them
  double clip_value = 0;     // cut each number of the gradients to this size, after clip_norm
  bool report_norm = false;  // of the gradients before they are clipped, as an output
  // Parameters whose name begins so learn, and decay, at this share of the rate: of several
  // beginnings the longest counts.
  std::vector<RateShare> rate_shares;
};
const std::vector<std::string>& optimizer_names();

struct TrainingOptions {
  OptimizerOptions optimizer;
  Objective objective = make_objective("cross-entropy");
  // Parameters whose name begins with one of these stay as they are and cost no gradient work.
  std::vector<std::string> frozen;
  // Normalization uses the running statistics it has, as at inference.
  bool keep_statistics = false;
  // Blocks of nodes, by the beginning of their names, whose results are computed again for the
  // backward pass instead of being kept.
  std::vector<std::string> recompute;
  // Besides, the best `most` of the blocks that are found in the graph itself, each of which saves
  // `least_bytes` or more; see autodiff::recompute_best(). 0: none.
  struct {
    int64_t least_bytes = 0;
    size_t most = 0;
  } recompute_best;
  // Whether the processors compute the step, and no device.
  bool on_host = true;
  // Averages of all parameters and running statistics are kept as states, by the share of
  // StepInputs::average.
  bool average = false;
  // Gradients of this many runs are added up before an update.
  int64_t accumulate = 1;
  // Gradients are those of the loss times StepInputs::loss_scale, so that small ones survive in
  // f16, and are divided by it before the update.
  bool scale_loss = false;

  // Several workers: gradients are those of `share` times the loss, the share of the images of all
  // workers that this one has, and are summed over the workers in buckets of about this many bytes,
  // in the order in which backward makes them. 0: one worker.
  double share = 1;
  int64_t bucket_bytes = 0;
  // How many images of a pass come before this worker's: Dropout drops by place among all of them.
  int64_t first_image = 0;
  // Batch normalization over the images of all workers, which are so many; 0: each over its own.
  int64_t sync_images = 0;
};

// The first bucket is full at this size, so that communication begins early.
inline constexpr int64_t kFirstBucketBytes = int64_t{1} << 20;

// The parts of a step, in the order in which they run. kCheck waits for the gradients of other
// workers and tells whether all are finite; only where the loss is scaled.
enum class Phase : uint8_t { kForward, kBackward, kCheck, kUpdate };

// One f32 or i64 each, set before a run; kNoValue: the graph does not have it. Their names in the
// graph are for readers: a network may have the same ones.
struct StepInputs {
  ValueId rate;        // f32: the learning rate; with an update
  ValueId updates;     // i64: the number of this update, from 1; with an update
  ValueId step;        // i64: a number that differs from run to run; with dropout
  ValueId average;     // f32: the share of the new weights in their averages; with averages
  ValueId loss_scale;  // f32: above 0; with scale_loss
  ValueId continues;   // f32: 0 in the first of the runs whose gradients are added up, 1 in the
                       // others; where there are several
};

// Inputs: the network's own, then those of the objective and of StepInputs. Outputs: the loss, then
// the objective's metrics, then the norm of the gradients if it is asked for, then, where the loss
// is scaled, that of the phase kCheck, which is not finite if a gradient is not.
struct TrainingGraph {
  Graph graph;
  StepInputs inputs;
  std::vector<uint8_t> phases;  // the Phase of each node, by the index of its id
  // Parameters, then running statistics, then what the optimizer keeps
  // (`optimizer.momentum.<parameter>`, …) and gradients that are being added up
  // (`optimizer.accumulated.<parameter>`), then averages, if there are any, in the order of the
  // parameters and running statistics (`optimizer.average.<name>`).
  std::vector<StateUpdate> states;
  int64_t num_parameters = 0;  // of the states
  int64_t num_statistics = 0;
  // The parameters whose gradients each bucket holds.
  std::vector<std::vector<std::string>> buckets;
  // The values of the graph that are gradients of the first states, in their order: of this
  // worker's images and this run alone.
  std::vector<std::string> gradients;
  std::vector<ObjectivePort> objective_inputs;
  autodiff::Recomputed recomputed;  // by recompute_best
  // Metric i is output 1 + i.
  struct MetricPort {
    std::string name;
    MetricKind kind = MetricKind::kMean;
    std::string share;
  };
  std::vector<MetricPort> metrics;
};

// Throws Error if the network cannot be trained: no parameters, outputs that the objective does not
// take, an operator without gradient.
TrainingGraph make_training_graph(Graph model, const TrainingOptions& options);

// Forward and backward alone, for those whose parameters are updated elsewhere: inputs as above but
// for rate and updates; outputs are followed by the gradients, in the order of the
// parameters; the states are parameters, which runs leave as they are, running statistics, and
// gradients that are being added up.
TrainingGraph make_gradient_graph(Graph model, const TrainingOptions& options);

inline constexpr const char* kAccumulatedPrefix = "optimizer.accumulated.";
inline constexpr const char* kAveragePrefix = "optimizer.average.";

}  // namespace trainyard::train
