// Measured all-reduces as plain numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dist/all_reduce_bench.h"

namespace trainyard::measure {

struct AllReduceSample {
  int64_t bytes = 0;
  std::string algorithm;
  std::string stands_for;  // what `algorithm` chose for this size; itself unless it chooses
  dist::Timing timing;
};

// What the ranks of one job measured.
struct AllReduceRun {
  int64_t workers = 1;
  int64_t per_host = 1;
  dist::Fabric fabric;
  std::vector<AllReduceSample> samples;
};

}  // namespace trainyard::measure
