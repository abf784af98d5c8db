// The data sets of a run: those that its settings name, as its settings change them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "train/train_config.h"

namespace trainyard::train {

// The share of the training set that is held out and tested on: val_split, or 0.1 where the data
// has no test split; 0: the data's own test split.
double held_out_share(const TrainConfig& config);

// The training set with long tail, number of samples and label noise applied, in this order, or the
// test set, of which only the number of samples is changed. With skip_bad_files, what cannot be
// read is left out and described in `skipped`.
std::unique_ptr<data::Dataset> open_set(const TrainConfig& config, data::Split split,
                                        std::vector<std::string>& skipped);
std::unique_ptr<data::Dataset> open_set(const TrainConfig& config, data::Split split);

// What is still the default and does not go with the data becomes what goes with it: the steps of
// detectors for boxes; for texts no steps, and the loss of the next token.
void settle_for_data(TrainConfig& config);

// Makes relative paths of data, network and weights absolute, so that the settings mean the same
// from any directory.
void resolve_paths(TrainConfig& config);

}  // namespace trainyard::train
