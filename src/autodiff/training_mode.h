// Turns a network as it is used into the network as it is trained.
#pragma once

#include <utility>
#include <vector>

#include "ir/graph.h"

namespace trainyard::autodiff {

// A value that the next step starts from: `from` is an initializer, `to` what it becomes.
struct StateUpdate {
  ValueId from;
  ValueId to;
};

// BatchNormalization takes its statistics from the batch (BatchNormTraining) and Dropout drops.
// Returns how the running statistics move.
std::vector<StateUpdate> to_training_mode(Graph& graph);

}  // namespace trainyard::autodiff
