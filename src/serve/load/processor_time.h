// What a process has had of the processors.
#pragma once

#include <ctime>

namespace trainyard::serve {

// Prometheus' own name for it.
inline constexpr const char* kProcessorSeconds = "process_cpu_seconds_total";

// Of all threads of this process, in the kernel too.
inline double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace trainyard::serve
