// The network that a training configuration names.
#pragma once

#include "data/dataset.h"
#include "ir/graph.h"
#include "train/train_config.h"

namespace trainyard::train {

// With classes and input of the data unless the configuration says otherwise; `batch` is what
// passes through it at once. Throws Error for an unknown name and a file that is not there.
Graph build_training_network(const TrainConfig& config, const data::Dataset& training,
                             int64_t batch);

}  // namespace trainyard::train
