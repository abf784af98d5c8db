// Timing all-reduces, and what bounds them.
#pragma once

#include <cstdint>

#include "dist/collectives.h"

namespace trainyard::dist {

// Of repeated measurements, each the slowest rank's time. Where other work disturbs the machine,
// the least shows what the machine can do, the median what it does.
struct Timing {
  double median_s = 0;
  double least_s = 0;
};

// What the ranks reach when all of them are busy at once: the best of repeated measurements.
struct Fabric {
  double message_latency_s = 0;    // a message to the next rank and one from the previous
  double message_bytes_per_s = 0;  // one direction of one rank
  double meeting_s = 0;            // of the ranks of a host in shared memory
  double memory_bytes_per_s = 0;   // of this host: reading and writing, all its ranks together
};

// Called by all ranks.
Fabric measure_fabric(Collectives& collectives);

// Runs `algorithm` on numbers whose sum is known, compares every element, then repeats it for about
// `seconds`. The answer is the same on all ranks. Throws Failure with rank, element and values if a
// sum is wrong. Called by all ranks; `data` is overwritten.
Timing time_all_reduce(Collectives& collectives, std::span<float> data, const AllReduce& algorithm,
                       double seconds);

}  // namespace trainyard::dist
