// Turns a network as it is used into the network as it is trained.
#pragma once

#include <span>
#include <vector>

#include "ir/state_update.h"

namespace trainyard::autodiff {

struct TrainingMode {
  std::vector<StateUpdate> statistics;  // how the running statistics move
  // The input that Dropout takes, a number that differs from run to run; kNoValue without Dropout.
  ValueId step;
};

// BatchNormalization takes its statistics from the batch (BatchNormTraining), and Dropout drops.
TrainingMode to_training_mode(Graph& graph);

// The same with running statistics that stay as they are. A normalization none of whose
// `parameters` are trained remains what it was, so that it can be folded into the layer before it.
TrainingMode to_training_mode_with_fixed_statistics(Graph& graph,
                                                    std::span<const ValueId> parameters);

}  // namespace trainyard::autodiff
