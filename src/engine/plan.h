// What the compiler decides about a graph before any kernel exists: which kernel computes which
// node, how each value lies in memory, and which values share a buffer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/kernels/api/kernel.h"
#include "ir/state_update.h"

namespace trainyard::runtime {

// A kernel that could have computed a node, and why it does not.
struct Refusal {
  std::string library;
  std::string reason;
};

enum class StepKind : uint8_t {
  kKernel,
  kView,   // the outputs are the input's memory, or the inputs are written as parts of the output
  kLate,   // only the data decides the shapes: kernels are made while running
  kStart,  // AllReduceStart
  kWait,   // AllReduceWait
};

struct PlannedStep {
  NodeId node;
  StepKind kind = StepKind::kKernel;
  const kernels::KernelDef* def = nullptr;  // kKernel only
  kernels::NodeLayouts layouts;
  std::vector<Refusal> refusals;
};

// Where a value lives: `offset` bytes into the buffer of value `root`.
struct Placement {
  ValueId root;
  int64_t offset = 0;
};

// What one AllReduceStart sends, side by side in memory that the exchange with other workers
// provides. The root stands for that memory; it is the node's first output.
struct Bucket {
  ValueId root;
  int64_t bytes = 0;
};

struct Plan {
  Graph graph;
  std::vector<PlannedStep> steps;  // in the order they run
  // By index of the value; entries of values made by no step mean nothing.
  std::vector<Layout> layouts;
  std::vector<Placement> places;
  std::vector<StateUpdate> states;
  std::vector<Bucket> buckets;  // by the number that their nodes carry

  Layout& layout(ValueId id) { return layouts[static_cast<size_t>(id.index)]; }
  const Layout& layout(ValueId id) const { return layouts[static_cast<size_t>(id.index)]; }
  Placement& place(ValueId id) { return places[static_cast<size_t>(id.index)]; }
  const Placement& place(ValueId id) const { return places[static_cast<size_t>(id.index)]; }
};

struct ChoiceOptions {
  bool reference_only = false;
  // Kernels of a device of this kind where they take the node; kHost: none.
  device::Backend device = device::Backend::kHost;
  std::span<const uint8_t> phases = {};  // CompileOptions::phases
};

// Chooses kernels and layouts node by node and adds Reorder nodes where a consumer wants its input
// otherwise than it was made. Throws Error naming a node that no kernel takes.
//
// An initializer that is a state has no layout of its own: the first step that reads it decides,
// and what it becomes is brought into the same layout. With a device it lies there.
Plan choose_kernels(Graph graph, std::vector<StateUpdate> states, const ChoiceOptions& options);

// Lets views and concatenations share memory and marks what is computed in place; lets the new
// value of a state overwrite the old one, and what is sent to other workers be made where it is
// sent from. Adds copies where sharing is not possible but needed. Fills `places` and `buckets`.
void share_buffers(Plan& plan);

// A new Reorder node that turns `from` into `layout`; the step is not yet in the plan.
PlannedStep make_reorder(Plan& plan, ValueId from, const Layout& layout);

}  // namespace trainyard::runtime
