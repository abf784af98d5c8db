// The memory that a training step takes, and what it computes again so that it fits into less.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "ops/autodiff/recompute.h"
#include "train/training_step.h"

namespace trainyard::train {

// Bytes, by the plan of the engine. Not counted: copies that kernels keep for themselves, the
// program, and the test's network.
struct StepMemory {
  int64_t values = 0;     // results of a step, gradients and scratch space among them
  int64_t states = 0;     // parameters, statistics, optimizer state, averages
  int64_t constants = 0;  // frozen parameters among them
  int64_t batches = 0;    // the one in use and those that are prepared
  int64_t total() const { return values + states + constants + batches; }
};
StepMemory memory_of(const runtime::Executable& step, int64_t data_workers);

// How a step was made to fit.
struct MemoryFit {
  int64_t limit = 0;
  StepMemory kept;  // when nothing is computed again
  autodiff::Recomputed again;
  double more_flops = 0;  // of a step, by computing again
};
// Sets recompute_best of the options so that the step takes `limit` bytes at most. Throws Error
// saying the least possible if it cannot.
MemoryFit fit_memory(const Graph& model, int64_t limit, int64_t data_workers, StepOptions& options);

// Of memory.json in a run directory.
Json to_json(const StepMemory& memory, const std::optional<MemoryFit>& fit);

}  // namespace trainyard::train
