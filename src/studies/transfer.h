// Transfer: a trained network learns other classes. Every mode with every learning rate is a run of
// its own, so that they can be compared.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "ir/graph.h"
#include "train/progress.h"
#include "train/train_config.h"

namespace trainyard::recipes {

struct TransferNetwork {
  Graph graph;                // one output, logits
  std::string features = {};  // the value that the new layer reads: images x numbers
  std::string head_weight = {};
  std::string head_bias = {};
  // The parameters of each layer from the input on, without the new one. Normalization belongs to
  // the layer before it.
  std::vector<std::vector<std::string>> layers = {};
};

// Puts a linear layer for `classes` in the place of the last one, whose weights are forgotten.
// Throws Error unless the first output is a linear layer's, or the Softmax of one.
TransferNetwork replace_head(Graph graph, int64_t classes);

// The network up to the features.
Graph features_of(const TransferNetwork& network);

// What is trained.
struct TransferMode {
  enum class Kind : uint8_t { kFinetune, kFeatures, kPartial };
  Kind kind = Kind::kFinetune;
  int64_t layers = 0;  // kPartial: so many before the new one

  // "finetune", "features", "partial:3".
  std::string text() const;
};
// Throws Error with the nearest name.
TransferMode parse_transfer_mode(const std::string& text);

// Names of the parameters that stay as they are. Throws Error if the network has fewer layers than
// are asked for.
std::vector<std::string> frozen_parameters(const TransferNetwork& network,
                                           const TransferMode& mode);

// "NAME=SHARE,…": each layer learns at `factor` of the rate of the next, the new one at the rate
// itself. Empty for a factor of 1.
std::string discriminative_rates(const TransferNetwork& network, double factor);

// Steps from a picture of the set to an input of this shape (1 x channels x height x width) for
// those who say nothing: resized, gray or colored as needed, normalized.
std::string fitting_steps(const data::Dataset& set, const Shape& input);

struct TransferConfig {
  // Data, augmentation (empty: as the network wants it), epochs, batch, momentum, seed, threads;
  // its rate, freeze and rate_shares are filled in for each run, an empty schedule becomes three
  // falls by 0.1.
  train::TrainConfig training = {};
  std::vector<TransferMode> modes = {};
  std::vector<double> rates = {};
  // The rate of each layer as a share of the next one's; 1: all the same.
  double discriminative = 1;
};

struct TransferEpoch {
  int64_t epoch = 0;  // from 1
  double train_loss = 0;
  double top1 = 0;
  double seconds = 0;  // of training, without the test
};

struct TransferRun {
  std::string mode = {};
  double rate = 0;
  std::filesystem::path folder = {};
  std::vector<TransferEpoch> epochs = {};
  double best_top1 = 0;
  double last_top1 = 0;
  int64_t trained_parameters = 0;
  // Means of a step.
  double forward_ms = 0;
  double backward_ms = 0;
  double update_ms = 0;
  bool cached = false;     // features were computed before the first epoch
  bool was_there = false;  // finished by an earlier call
  bool diverged = false;   // the loss was no longer finite

  double seconds_per_epoch() const;
};

struct TransferResult {
  std::vector<TransferRun> runs = {};
  int64_t parameters = 0;
  double features_seconds = 0;  // to compute or read them; 0: none were wanted
  std::string steps = {};
  // Of runs; the highest accuracy, of equals the one whose epochs are shorter.
  size_t winner = 0;
};

struct TransferHooks {
  std::function<bool()> should_stop = {};
  std::function<void(const train::StepReport&)> on_step = {};
  std::function<void(const std::string&)> note = {};
};

// "multistep:…" with falls after 50, 75 and 90 % of the epochs.
std::string three_falls(int64_t epochs);

// `network` has weights and the batch of the configuration. Runs lie in folders of `folder`; what
// is finished there is read, what was interrupted is resumed. Throws Error for settings that differ
// from those of a run that is there, Failure if somebody wants to stop.
TransferResult transfer(const TransferConfig& config, const Graph& network,
                        const data::Dataset& training, const data::Dataset& test,
                        const std::filesystem::path& folder, const TransferHooks& hooks);

}  // namespace trainyard::recipes
