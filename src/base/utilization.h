// What a process and its machine are busy with, looked at once a second.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/child_process.h"
#include "base/json.h"
#include "base/stopwatch.h"

namespace trainyard {

// Counters that only grow, as the system gives them.
struct UsageCounters {
  double process_s = 0;  // of processors, by this process
  double machine_s = 0;  // of processors, by everybody
  int64_t read_bytes = 0;
  int64_t written_bytes = 0;
};

// Of one second or so.
struct Utilization {
  double at_s = 0;          // since the sampling began
  double process = 0;       // of all processors: 0 to 1
  double machine = 0;       // the same of everybody
  double memory_bytes = 0;  // that the process holds
  double memory = 0;        // of the machine's memory, in use by anybody: 0 to 1
  double read_per_s = 0;    // bytes from and to disks
  double written_per_s = 0;
  // Of the first device that nvidia-smi lists, 0 to 1; nothing without it.
  std::optional<double> gpu = {};
  std::optional<double> gpu_memory = {};
};

Json to_json(const Utilization& sample);

UsageCounters read_usage_counters();
// Between two readings `seconds` apart, on so many processors.
Utilization usage_between(const UsageCounters& before, const UsageCounters& after, double seconds,
                          int processors);
// The two shares of a line of `nvidia-smi --query-gpu=utilization.gpu,utilization.memory`; nothing
// for another line.
std::optional<std::pair<double, double>> parse_gpu_line(std::string_view line);

// Samples by a thread of its own from construction to destruction.
class UtilizationSampler {
 public:
  UtilizationSampler();
  ~UtilizationSampler();
  UtilizationSampler(const UtilizationSampler&) = delete;
  UtilizationSampler& operator=(const UtilizationSampler&) = delete;

  // Those since the last call. By any thread.
  std::vector<Utilization> take();

 private:
  void work();
  void read_gpu(Utilization& sample);

  Stopwatch watch_;
  std::unique_ptr<ChildProcess> gpu_;  // nvidia-smi, which writes a line a second
  std::string gpu_text_;
  std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stopping_ = false;
  std::vector<Utilization> samples_;
  std::thread thread_;
};

}  // namespace trainyard
