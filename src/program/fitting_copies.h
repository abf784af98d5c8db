// How many copies of each picture pass through a network at once (`train --batch-augment`).
#pragma once

#include "data/dataset.h"
#include "train/train_config.h"

namespace trainyard::cli {

// Where the settings leave it open, the largest part of the copies whose plan of memory fits into
// what the machine has free, shared by the workers; it says so if that is not all of them.
void settle_copies(train::TrainConfig& config, const data::Dataset& training);

// The same for so many bytes: at least one copy, however few there are.
int64_t fitting_copies(const train::TrainConfig& config, const data::Dataset& training,
                       double bytes);

}  // namespace trainyard::cli
