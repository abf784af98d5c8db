// Turns a network as it is used into the network as it is trained.
#pragma once

#include <vector>

#include "ir/state_update.h"

namespace trainyard::autodiff {

// BatchNormalization takes its statistics from the batch (BatchNormTraining), unless
// `keep_statistics`, and Dropout drops. Returns how the running statistics move.
std::vector<StateUpdate> to_training_mode(Graph& graph, bool keep_statistics = false);

}  // namespace trainyard::autodiff
