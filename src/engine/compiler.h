// Turns a graph into something that runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/executable.h"
#include "engine/kernels/api/precision.h"
#include "ir/state_update.h"

namespace trainyard::device {
class Device;
}
namespace trainyard::passes {
struct PassList;
}

namespace trainyard::runtime {

struct CompileOptions {
  int threads = 0;              // 0: all cores
  bool reference_only = false;  // no fast kernels, no fusion: what the graph means
  // Kernels of this device compute what they can; the rest runs here. Null: none. With states only
  // devices of libtorch.
  std::shared_ptr<device::Device> device;
  bool rewrite = true;                                      // run the passes
  kernels::Precision precision = kernels::Precision::kF32;  // of products of matrices
  const passes::PassList* passes = nullptr;                 // null: inference_passes()
  uint64_t seed = 0;                                        // of initializers without data
  int64_t max_iterations = 1'000'000;                       // of a Loop; beyond it is an error
  bool share_constants = false;    // keep constants that another executable has too once
  bool compact_constants = false;  // of those, forms that take less memory for hardly less speed
  // Initializers that each run replaces. Their numbers are not taken from the graph: a context
  // starts with zeros, and set_state() fills them.
  std::vector<StateUpdate> states;
  // What a run may be cut into: the phase of each node, by the index of its id. All nodes of a
  // phase run after those of the phases before it, and StepInfo::phase says which it is. Empty:
  // there is one phase.
  std::vector<uint8_t> phases;
  // Called with "imported", then each pass that changed something, and the graph.
  std::function<void(std::string_view stage, const Graph&)> observer;
};

// Takes the graph, so that weights can be freed as soon as kernels have packed them. Throws Error
// naming a node that cannot be compiled.
Executable compile(Graph graph, const CompileOptions& options);

}  // namespace trainyard::runtime
