// The inside of an Executable: everything that is the same for all of its contexts.
#pragma once

#include <memory>
#include <vector>

#include "engine/compiler.h"
#include "engine/kernels/api/kernel.h"
#include "engine/plan.h"

namespace trainyard::runtime {

struct ProgramStep {
  NodeId node;
  StepKind kind = StepKind::kKernel;
  std::unique_ptr<kernels::Kernel> kernel;  // kKernel only
  int64_t scratch_offset = 0;               // in the arena
  size_t bucket = 0;                        // kStart and kWait only
  int threads = 1;                          // that it is worth
  bool any_address = false;                 // kernels::takes_any_address
};

struct Program {
  std::shared_ptr<device::Device> device;  // null: none; outlives its kernels
  Graph graph;  // after all rewrites; constants that kernels packed are gone
  std::vector<Layout> layouts;
  std::vector<Placement> places;
  std::vector<ProgramStep> steps;
  std::vector<StepInfo> infos;  // one per step
  // By index of the root value; -1: not in the arena.
  std::vector<int64_t> arena_offsets;
  int64_t arena_bytes = 0;
  // What is sent to other workers, in memory that their exchange provides: buckets follow one
  // another. By index of the root value; -1: not in it.
  std::vector<int64_t> window_offsets;
  std::vector<Bucket> buckets;
  int64_t window_bytes = 0;
  int threads = 1;
  CompileOptions options;  // for the bodies of control flow; without states
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  // Values that contexts hold and that a run changes; ports in the same order.
  std::vector<ValueId> state_values;
  std::vector<Port> states;
};

}  // namespace trainyard::runtime
