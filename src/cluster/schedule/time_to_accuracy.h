// Time to accuracy: steps by the loss, seconds per step by the speed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cluster/schedule/speed/speed_model.h"

namespace trainyard::schedule {

struct TimeQuestion {
  double steps = 0;        // until the goal
  double steps_error = 0;  // share by which it may be off, from the loss fit's tail
  double speed_error = 0;  // the speed fit's mean error
  std::vector<int64_t> servers;
  std::vector<int64_t> workers;
  double usd_per_worker_hour = 0;
  double usd_per_server_hour = 0;
};

struct TimePoint {
  int64_t servers = 1;
  int64_t workers = 1;
  double seconds = 0;
  double low = 0;  // with both errors in its favor
  double high = 0;
  double cost_usd = 0;
  bool measured = false;   // the speed of this pair was
  std::string limit = {};  // what takes the largest part of a step
};

struct TimeAnswer {
  std::vector<TimePoint> points;  // by servers, then workers
  size_t fastest = 0;
  size_t cheapest = 0;
};

// Throws Error for empty lists, numbers below 1 and goals of no steps.
TimeAnswer time_to_accuracy(const SpeedModel& speed, const TimeQuestion& question);

}  // namespace trainyard::schedule
