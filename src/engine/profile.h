// Where the time of a run goes: per step, summed over runs, and as a trace for Perfetto.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/executable.h"

namespace trainyard::runtime {

// Filled by ExecutionContext::run(). Not thread-safe.
class Profile {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Profile(const Executable& executable);

  void record(size_t step, Clock::time_point begin, Clock::time_point end);

  // Mean seconds per run of each step.
  std::vector<double> step_seconds() const;
  int64_t runs() const;

  // Trace-event JSON ("X" events, microseconds). Only the first kMaxEvents steps are kept, so that
  // a long run does not fill the disk.
  std::string trace_json() const;
  static constexpr size_t kMaxEvents = 200'000;

 private:
  struct Event {
    size_t step;
    int64_t begin_ns;
    int64_t duration_ns;
  };

  Executable executable_;
  Clock::time_point start_;
  std::vector<int64_t> nanoseconds_;
  std::vector<int64_t> counts_;
  std::vector<Event> events_;
};

// Time that reference kernels take, late nodes included, as shares of the whole. Bodies of control
// flow are not looked into.
struct ReferenceShare {
  std::string op;
  double share = 0;
};
// By operator, the largest first.
std::vector<ReferenceShare> reference_shares(const Executable& executable, const Profile& profile);

}  // namespace trainyard::runtime
