// What TensorBoard is given besides scalars.
#pragma once

#include <cstdint>
#include <span>

#include "data/image.h"
#include "runs/events.h"
#include "train/train_config.h"

namespace trainyard::train {

// Every setting by its name.
std::map<std::string, runs::Setting> settings_for_tensorboard(TrainConfig config);

// Rows are true classes, columns what the network said, each as a square: the darker, the larger
// its share of the row. `counts` is square.
data::Image confusion_picture(std::span<const int64_t> counts);

}  // namespace trainyard::train
