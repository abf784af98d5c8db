#include "base/utilization.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

#include "base/machine_facts.h"

namespace trainyard {
namespace {

constexpr auto kInterval = std::chrono::seconds(1);

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// "name: number" lines of the files of /proc.
int64_t proc_number(const char* file, std::string_view name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name)) return std::strtoll(line.c_str() + name.size(), nullptr, 10);
  }
  return 0;
}

// Of all processors since the machine started: everything but idle and waiting for disks.
double machine_seconds() {
  std::ifstream file("/proc/stat");
  std::string name;
  double user = 0;
  double nice = 0;
  double system = 0;
  double idle = 0;
  double waiting = 0;
  double interrupts = 0;
  double soft_interrupts = 0;
  file >> name >> user >> nice >> system >> idle >> waiting >> interrupts >> soft_interrupts;
  return (user + nice + system + interrupts + soft_interrupts) /
         static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

UsageCounters read_usage_counters() {
  rusage own{};
  ::getrusage(RUSAGE_SELF, &own);
  UsageCounters counters{.process_s = seconds_of(own.ru_utime) + seconds_of(own.ru_stime),
                         .machine_s = machine_seconds(),
                         .read_bytes = proc_number("/proc/self/io", "read_bytes:"),
                         .written_bytes = proc_number("/proc/self/io", "write_bytes:")};
  std::ifstream network("/proc/net/dev");
  count_network(network, counters);
  return counters;
}

// "  eth0: 1000 8 0 0 0 0 0 0 2000 …": bytes received, seven other counts, bytes sent.
void count_network(std::istream& text, UsageCounters& counters) {
  constexpr int kBetween = 7;
  for (std::string line; std::getline(text, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string name = line.substr(0, colon);
    if (name.ends_with("lo") && name.find_first_not_of(' ') == name.size() - 2) continue;
    std::istringstream numbers(line.substr(colon + 1));
    int64_t received = 0;
    int64_t sent = 0;
    int64_t other = 0;
    numbers >> received;
    for (int i = 0; i < kBetween; ++i) numbers >> other;
    if (!(numbers >> sent)) continue;
    counters.received_bytes += received;
    counters.sent_bytes += sent;
  }
}

// Shares of all processors, so 1 is a machine that is fully busy. Rounding of the counters may
// exceed it.
Utilization usage_between(const UsageCounters& before, const UsageCounters& after, double seconds,
                          int processors) {
  const double most = seconds * processors;
  const auto per_s = [seconds](int64_t from, int64_t to) {
    return static_cast<double>(to - from) / seconds;
  };
  return {.process = std::min(1.0, (after.process_s - before.process_s) / most),
          .machine = std::min(1.0, (after.machine_s - before.machine_s) / most),
          .read_per_s = per_s(before.read_bytes, after.read_bytes),
          .written_per_s = per_s(before.written_bytes, after.written_bytes),
          .received_per_s = per_s(before.received_bytes, after.received_bytes),
          .sent_per_s = per_s(before.sent_bytes, after.sent_bytes)};
}

namespace {

void add_gpus(const std::vector<GpuSample>& gpus, Json& all) {
  GpuSample sum;
  for (const GpuSample& gpu : gpus) {
    sum.busy += gpu.busy;
    sum.memory_busy += gpu.memory_busy;
    sum.memory_bytes += gpu.memory_bytes;
    sum.power_w += gpu.power_w;
    sum.temperature_c = std::max(sum.temperature_c, gpu.temperature_c);
  }
  const auto count = static_cast<double>(gpus.size());
  all["gpu"] = sum.busy / count;
  all["gpu_memory"] = sum.memory_busy / count;
  all["gpu_memory_bytes"] = sum.memory_bytes;
  if (sum.power_w > 0) all["gpu_power_w"] = sum.power_w;
  if (sum.temperature_c > 0) all["gpu_temperature_c"] = sum.temperature_c;
  for (size_t i = 0; gpus.size() > 1 && i < gpus.size(); ++i) {
    all["gpu" + std::to_string(i)] = gpus[i].busy;
  }
}

}  // namespace

Json to_json(const Utilization& sample) {
  Json all = Json::object({{"at_s", sample.at_s},
                           {"process", sample.process},
                           {"machine", sample.machine},
                           {"memory_bytes", sample.memory_bytes},
                           {"memory", sample.memory},
                           {"read_per_s", sample.read_per_s},
                           {"written_per_s", sample.written_per_s},
                           {"received_per_s", sample.received_per_s},
                           {"sent_per_s", sample.sent_per_s}});
  if (!sample.gpus.empty()) add_gpus(sample.gpus, all);
  return all;
}

UtilizationSampler::UtilizationSampler() : thread_([this] { work(); }) {}

UtilizationSampler::~UtilizationSampler() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  stop_changed_.notify_all();
  thread_.join();
}

std::vector<Utilization> UtilizationSampler::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(samples_, {});
}

void UtilizationSampler::work() {
  const int processors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const auto memory = static_cast<double>(proc_number("/proc/meminfo", "MemTotal:"));
  UsageCounters before = read_usage_counters();
  double last = watch_.seconds();
  std::unique_lock lock(mutex_);
  while (!stop_changed_.wait_for(lock, kInterval, [this] { return stopping_; })) {
    lock.unlock();
    // Reading /proc takes time in which take() must not wait.
    const UsageCounters after = read_usage_counters();
    const double now = watch_.seconds();
    Utilization sample = usage_between(before, after, now - last, processors);
    sample.at_s = now;
    sample.memory_bytes = static_cast<double>(resident_bytes());
    const auto free = static_cast<double>(proc_number("/proc/meminfo", "MemAvailable:"));
    if (memory > 0) sample.memory = 1 - free / memory;
    sample.gpus = gpus_.read();
    before = after;
    last = now;
    lock.lock();
    samples_.push_back(sample);
  }
}

}  // namespace trainyard
