// The transport between threads of one process: tests run any number of ranks without a launcher.
#pragma once

#include <functional>

#include "dist/communicator.h"

namespace trainyard::dist {

struct ThreadRanks {
  int64_t ranks = 1;
  int64_t per_host = 0;  // ranks that count as one host; 0: all
  double limit_s = 60;
};

// Calls `body` once per rank, each in a thread of its own, and returns when all have. If some
// throw, the others fail at their next wait for them, and the first exception is thrown again.
void run_in_threads(const ThreadRanks& settings, const std::function<void(Communicator&)>& body);

}  // namespace trainyard::dist
