// All-reduces measured by the ranks of a job, for the tables of report/all_reduce.h.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "dist/collectives.h"

namespace trainyard::cli {

// Times each algorithm that can run here on messages of each size (multiples of 4 bytes) for about
// `seconds`; rank 0 says on stderr which sizes are done. The answer, {rows, fabrics}, is complete
// on every rank.
Json measure_all_reduces(dist::Collectives& collectives, const std::vector<int64_t>& sizes,
                         const std::vector<const dist::AllReduce*>& algorithms, double seconds);

}  // namespace trainyard::cli
