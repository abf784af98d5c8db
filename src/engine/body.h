// A graph that runs on whatever shapes come.
#pragma once

#include "engine/plan_cache.h"

namespace trainyard::runtime {

// Dimensions of the graph's inputs may be unknown. Inputs are of their element types and ranks; the
// plans throw Error as inference does, and for more than `most_bytes`.
PlanCache plans_of(Graph graph, const CompileOptions& options,
                   int64_t most_bytes = PlanCache::kAnyBytes);

}  // namespace trainyard::runtime
