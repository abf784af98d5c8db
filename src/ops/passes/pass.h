// Graph rewrites. Each is one file and says in one sentence what it does; the results of a network
// stay the same up to rounding.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace trainyard::passes {

struct PassContext {
  // The outputs of a node whose inputs are all known; empty if it cannot tell. Kernels are above
  // this folder, so whoever runs the passes brings them.
  std::function<std::vector<Tensor>(const Graph&, NodeId)> evaluate;
  // Are there fast kernels for eight bits? Without them quantized graphs are computed in floats.
  bool fast_bytes = true;
  // Whether the processors compute the graph, and no device.
  bool on_host = true;
};

struct Pass {
  std::string_view name;
  // Returns whether it changed the graph, which stays topologically sorted and typed.
  bool (*run)(Graph&, const PassContext&) = nullptr;
  // Merges operators into internal ones; the others only drop what is not needed.
  bool fuses = false;
};

// Passes in the order they run.
struct PassList {
  std::string_view name;
  std::span<const Pass> passes;
};
// "inference": a network that is used.
const PassList& inference_passes();
// "training": a whole step, forward, backward and update.
const PassList& training_passes();
// "before-gradients": a network in training mode that is going to be differentiated; what they make
// has gradient rules.
const PassList& before_gradients_passes();
// "standard": a network that is used and goes on to other programs: operators that ONNX has, batch
// normalization folded where a convolution or matrix product is before it.
const PassList& standard_passes();

}  // namespace trainyard::passes
