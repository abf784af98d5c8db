// All-reduces measured by the ranks of a job.
#pragma once

#include <cstdint>
#include <vector>

#include "dist/collectives.h"
#include "studies/scaling/all_reduce_run.h"

namespace trainyard::measure {

// Times each algorithm that can run here on messages of each size (multiples of 4 bytes) for about
// `seconds`; rank 0 says on stderr which sizes are done. The answer is complete on every rank.
AllReduceRun measure_all_reduces(dist::Collectives& collectives, const std::vector<int64_t>& sizes,
                                 const std::vector<const dist::AllReduce*>& algorithms,
                                 double seconds);

}  // namespace trainyard::measure
