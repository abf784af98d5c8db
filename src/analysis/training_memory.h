// The live values of one training step: forward in the order of the nodes, backward in reverse.
#pragma once

#include <cstdint>

#include "analysis/storage.h"
#include "ir/graph.h"

namespace trainyard::analysis {

struct TrainingMemory {
  int64_t saved =
      0;      // bytes the forward pass leaves for the backward pass (analysis/saved_for_backward.h)
  Peak peak;  // values and their gradients; see simulate_training
  bool peak_in_backward = false;
};

// Gradients flow from every graph output to every trainable parameter, and nowhere else. Views and
// sums pass their gradient on without a copy, activations overwrite it where nobody else needs it;
// a value with several consumers adds their contributions up one by one.
//
// In general, gradients of parameters are apart: there is memory for all of them. Here (in this
// engine) they are part of the peak, each from when it is made; concatenations and their gradients
// are not copied; and convolutions by Winograd's minimal filtering transform their weights.
enum class MemoryOf : uint8_t { kAnyTrainer, kThisEngine };
TrainingMemory simulate_training(const Graph& graph, MemoryOf trainer);

}  // namespace trainyard::analysis
