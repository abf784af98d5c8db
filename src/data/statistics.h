// What a data set holds, counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace trainyard::data {

struct Statistics {
  int64_t samples = 0;                // looked at
  std::vector<int64_t> class_counts;  // of all samples that have a class
  std::vector<double> mean;           // per channel, of bytes
  std::vector<double> std;
  int64_t min_height = 0;
  int64_t max_height = 0;
  int64_t min_width = 0;
  int64_t max_width = 0;
  std::vector<std::string> unreadable;  // messages naming the samples
};

// Looks at no more than `most` evenly spaced samples. An unreadable sample is noted, not thrown.
Statistics measure_statistics(const Dataset& dataset, int64_t most = INT64_MAX);

}  // namespace trainyard::data
