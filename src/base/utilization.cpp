#include "base/utilization.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

#include "base/machine_facts.h"
#include "base/text.h"

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

// A missing program is no reason to start a process that fails.
bool is_in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  if (path == nullptr) return false;
  for (const std::string& folder : split(path, ':')) {
    std::error_code problem;
    if (std::filesystem::exists(std::filesystem::path(folder) / program, problem)) return true;
  }
  return false;
}

}  // namespace

UsageCounters read_usage_counters() {
  rusage own{};
  ::getrusage(RUSAGE_SELF, &own);
  return {.process_s = seconds_of(own.ru_utime) + seconds_of(own.ru_stime),
          .machine_s = machine_seconds(),
          .read_bytes = proc_number("/proc/self/io", "read_bytes:"),
          .written_bytes = proc_number("/proc/self/io", "write_bytes:")};
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
          .written_per_s = per_s(before.written_bytes, after.written_bytes)};
}

// "37, 12": percent of the GPU and of its memory bandwidth. Nothing for lines such as "[N/A]".
std::optional<std::pair<double, double>> parse_gpu_line(std::string_view line) {
  const std::string text(line);
  char* end = nullptr;
  const double gpu = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != ',') return std::nullopt;
  const char* second = end + 1;
  const double memory = std::strtod(second, &end);
  if (end == second) return std::nullopt;
  return std::pair(gpu / 100, memory / 100);
}

Json to_json(const Utilization& sample) {
  Json all = Json::object({{"at_s", sample.at_s},
                           {"process", sample.process},
                           {"machine", sample.machine},
                           {"memory_bytes", sample.memory_bytes},
                           {"memory", sample.memory},
                           {"read_per_s", sample.read_per_s},
                           {"written_per_s", sample.written_per_s}});
  if (sample.gpu) all["gpu"] = *sample.gpu;
  if (sample.gpu_memory) all["gpu_memory"] = *sample.gpu_memory;
  return all;
}

// One nvidia-smi that goes on writing (--loop), not a process for every sample.
UtilizationSampler::UtilizationSampler() {
  const std::string smi = "nvidia-smi";
  if (is_in_path(smi)) {
    const std::string command[] = {smi, "--query-gpu=utilization.gpu,utilization.memory",
                                   "--format=csv,noheader,nounits", "--id=0", "--loop=1"};
    gpu_ = std::make_unique<ChildProcess>(command,
                                          ChildOptions{.log = "/dev/null", .own_group = true});
  }
  thread_ = std::thread([this] { work(); });
}

UtilizationSampler::~UtilizationSampler() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  stop_changed_.notify_all();
  thread_.join();
  if (gpu_) {
    gpu_->send(SIGTERM);
    gpu_->wait();
  }
}

std::vector<Utilization> UtilizationSampler::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(samples_, {});
}

// The last whole line counts.
void UtilizationSampler::read_gpu(Utilization& sample) {
  if (!gpu_) return;
  gpu_->read_some(gpu_text_, 0);
  const size_t end = gpu_text_.rfind('\n');
  if (end == std::string::npos) return;
  const size_t begin = end == 0 ? std::string::npos : gpu_text_.rfind('\n', end - 1);
  const size_t first = begin == std::string::npos ? 0 : begin + 1;
  if (const auto shares = parse_gpu_line(gpu_text_.substr(first, end - first))) {
    sample.gpu = shares->first;
    sample.gpu_memory = shares->second;
  }
  gpu_text_.erase(0, first);
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
    read_gpu(sample);
    before = after;
    last = now;
    lock.lock();
    samples_.push_back(sample);
  }
}

}  // namespace trainyard
