// What lies in a file of TensorBoard's events.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "base/wire.h"

namespace trainyard::runs {

struct EventNumber {
  int64_t step = 0;
  double wall_s = 0;
  std::string_view tag;
  double value = 0;
};

// Called for each value in the order of the file; null: those are passed over.
struct EventUser {
  std::function<void(const EventNumber&)> number = {};
  std::function<void(int64_t step, std::string_view tag, Bytes histogram)> histogram = {};
};

// Whole records of a file from `offset` on, about `most` bytes of them; a torn last one is left
// out. Returns where it ends. Throws Error for a length that is damaged: nothing behind it can be
// found.
int64_t read_events(const std::filesystem::path& path, int64_t offset, int64_t most,
                    const EventUser& use);

struct EventHistogram {
  double low = 0;
  double high = 0;
  double mean = 0;
  double deviation = 0;
  std::vector<double> ends;  // right ones, of each bucket
  std::vector<double> counts;
};
// Throws Error for one that is damaged.
EventHistogram parse_histogram(Bytes bytes);

}  // namespace trainyard::runs
