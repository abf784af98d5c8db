// What the cores themselves lose when all of them are busy.
#pragma once

#include <cstdint>

#include "engine/executable.h"

namespace trainyard::measure {

// A convolution again and again on data that stay in a core's own caches: it needs no memory and
// sends nothing. What it loses beside other workers (a lower clock, cores that share their units or
// are shared with strangers), no training keeps.
class CoreSpeedProbe {
 public:
  explicit CoreSpeedProbe(int threads);

  // How often the work fits into this many seconds, at the speed of now; at least once.
  int64_t rounds_in(double seconds);
  // Seconds that so many rounds take.
  double run(int64_t rounds);

 private:
  runtime::Executable executable_;
  runtime::ExecutionContext context_;
};

}  // namespace trainyard::measure
