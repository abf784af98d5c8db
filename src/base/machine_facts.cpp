#include "base/machine_facts.h"

#include <chrono>
#include <fstream>
#include <string>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/core.h>

namespace trainyard {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

Json machine_facts() {
  utsname system{};
  ::uname(&system);
  const int64_t memory = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  return Json::object(
      {{"host", system.nodename},
       {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
       {"processor", processor_name()},
       {"threads", static_cast<int64_t>(std::thread::hardware_concurrency())},
       {"memory_bytes", memory},
       {"compiler", __VERSION__},
       {"time",
        fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(
                                                 std::chrono::system_clock::now())))}});
}

double load_average() {
  double minute = 0;
  return ::getloadavg(&minute, 1) == 1 ? minute : 0;
}

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0;
  int64_t resident = 0;
  if (!(file >> all >> resident)) return 0;
  return resident * ::sysconf(_SC_PAGESIZE);
}

}  // namespace trainyard
