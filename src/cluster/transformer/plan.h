// Which mapping is fastest: all that can be are tried.
#pragma once

#include <vector>

#include "cluster/transformer/memory.h"
#include "cluster/transformer/step_time.h"

namespace trainyard::transformer {

struct PlannedMapping {
  Mapping mapping;
  StepTime time;
  Memory memory;
};

struct Plan {
  std::vector<PlannedMapping> best;  // fastest first
  int64_t tried = 0;                 // valid mappings
  int64_t fitting = 0;               // of them in the device's memory
  double seconds = 0;                // that the search took
};

// Mappings of `wanted`'s workers, batch, sequence, precision and optimizer: tensor, pipeline,
// interleave, context, expert, micro batch, recompute and sharding. Throws Error if none fits,
// naming what does not.
Plan find_plan(const Transformer& model, const Machine& machine, const Factors& factors,
               const Mapping& wanted, size_t most);

}  // namespace trainyard::transformer
