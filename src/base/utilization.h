// What a process and its machine are busy with, looked at once a second.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <istream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/stopwatch.h"

namespace trainyard {

// Of one GPU.
struct GpuSample {
  double busy = 0;          // share of the time in which it computed: 0 to 1
  double memory_busy = 0;   // share of the time in which its memory was read or written: 0 to 1
  double memory_bytes = 0;  // in use, by anybody
  double memory_share = 0;  // of its memory
  double power_w = 0;       // 0: it does not say
  double temperature_c = 0;
};

// Opens the library, if there is one. Not thread-safe.
class GpuMeter {
 public:
  explicit GpuMeter(const std::string& library = "libnvidia-ml.so.1");
  ~GpuMeter();
  GpuMeter(const GpuMeter&) = delete;
  GpuMeter& operator=(const GpuMeter&) = delete;

  // Of each GPU that answers now, in the driver's order; empty without driver or GPU.
  std::vector<GpuSample> read() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

// Counters that only grow, as the system gives them.
struct UsageCounters {
  double process_s = 0;  // of processors, by this process
  double machine_s = 0;  // of processors, by everybody
  int64_t read_bytes = 0;
  int64_t written_bytes = 0;
  // Over all network devices of the machine but the one that leads back to it, by everybody.
  int64_t received_bytes = 0;
  int64_t sent_bytes = 0;
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
  double received_per_s = 0;  // bytes from and to other machines
  double sent_per_s = 0;
  std::vector<GpuSample> gpus = {};
};

// GPUs as `gpu` and `gpu_memory` (busy, mean of all), `gpu_memory_bytes`, `gpu_power_w` (sums) and
// `gpu_temperature_c` (the hottest); of several, each one's share as `gpu0`, `gpu1`, … too.
Json to_json(const Utilization& sample);

UsageCounters read_usage_counters();
// Between two readings `seconds` apart, on so many processors.
Utilization usage_between(const UsageCounters& before, const UsageCounters& after, double seconds,
                          int processors);
// Adds up the lines of a text as /proc/net/dev has it.
void count_network(std::istream& text, UsageCounters& counters);

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

  Stopwatch watch_;
  GpuMeter gpus_;
  std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stopping_ = false;
  std::vector<Utilization> samples_;
  std::thread thread_;
};

}  // namespace trainyard
