// The memory that inference and training need, from the graph alone.
//
// Counted: parameters, gradients, optimizer state, and the values of the graph while somebody still
// needs them. Not counted: scratch space of kernels, copies of weights in other layouts, the loss
// (whose gradient is), the program itself.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace trainyard::analysis {

enum class Optimizer : uint8_t { kSgd, kMomentum, kAdam };
inline constexpr std::array kOptimizers = {Optimizer::kSgd, Optimizer::kMomentum, Optimizer::kAdam};
std::string_view optimizer_name(Optimizer optimizer);

// Bytes of values that are live at once, and the node at which the most are.
struct ActivationPeak {
  int64_t bytes = 0;
  std::string node;       // "" while only the inputs are there
  bool backward = false;  // in the backward pass of that node
};

struct MemoryUse {
  int64_t trainable = 0;   // bytes of weights and biases
  int64_t statistics = 0;  // running means and variances
  int64_t constants = 0;   // the other initializers
  int64_t gradients = 0;   // one for each trainable parameter
  int64_t inputs = 0;      // one batch of all graph inputs
  // All that the backward pass needs of the forward pass, inputs included
  // (analysis/saved_for_backward.h).
  int64_t saved_for_backward = 0;

  ActivationPeak inference;           // every value in memory of its own, freed after its last use
  ActivationPeak inference_in_place;  // element-wise operators overwrite what is not needed again
  ActivationPeak training;            // forward and backward, gradients of activations included
  // In this engine, gradients of parameters included: they are made on the way back, and parts of
  // concatenations where they belong.
  ActivationPeak training_here;

  int64_t weights() const { return trainable + statistics + constants; }
  // 0, 1 or 2 copies of the trainable parameters.
  int64_t optimizer_state(Optimizer optimizer) const;
  int64_t inference_total() const { return weights() + inference_in_place.bytes; }
  int64_t training_total(Optimizer optimizer) const {
    return weights() + gradients + optimizer_state(optimizer) + training.bytes;
  }
  int64_t training_here_total(Optimizer optimizer) const {
    return weights() + optimizer_state(optimizer) + training_here.bytes;
  }
};

// At the graph's batch. The graph must be sorted and its types inferred.
MemoryUse analyze_memory(const Graph& graph);

}  // namespace trainyard::analysis
