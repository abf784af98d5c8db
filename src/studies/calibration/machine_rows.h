// Predictions for this machine beside measurements on it, as plain numbers.
#pragma once

#include <cstdint>
#include <string>

namespace trainyard::measure {

struct MachineRow {
  std::string network;
  bool training = false;
  int64_t batch = 1;
  double measured = 0;  // images/s, of the median
  double best = 0;      // of the fastest run
  double predicted = 0;

  double error() const { return predicted / measured - 1; }
  const char* mode() const { return training ? "training" : "inference"; }
};

}  // namespace trainyard::measure
