// What every all-reduce must do, over any transport.
#pragma once

#include <string>

#include "dist/collectives.h"

namespace trainyard::dist {

// Runs `algorithm` for float32 and float64 with messages of several sizes, inside and outside of
// windows, and compares with sums made on each rank, which must be exact (small integers) or within
// rounding and the same bits on all ranks and twice in a row (random numbers). Called by all ranks;
// the answer is the first thing found wrong, empty if nothing is.
std::string check_all_reduce(Collectives& collectives, const AllReduce& algorithm);

// Every rank sends rank 0 some messages, which it takes in the order in which they can be found.
// The answer as above.
std::string check_find_message(Communicator& comm);

// All but the last rank say that they wait: each finds that one late, whomever it waits for itself.
std::string check_find_late(Communicator& comm);

}  // namespace trainyard::dist
