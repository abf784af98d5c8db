// A few lines that a language model writes after each epoch.
#pragma once

#include <functional>
#include <string>

#include "data/dataset.h"
#include "ir/graph.h"
#include "train/train_config.h"

namespace trainyard::train {

// From a network with its present weights to what it writes: config.sample_tokens tokens behind the
// first ones of the training text, the same choices each time, fewer where that takes longer than
// ten seconds. Both arguments must outlive it.
std::function<std::string(const Graph& trained)> sample_writer(const TrainConfig& config,
                                                               const data::Dataset& training);

}  // namespace trainyard::train
