#include "dist/mpi/watch.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <unistd.h>

#include <fmt/core.h>

namespace trainyard::dist {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(200);

std::atomic<Clock::rep> deadline = 0;  // 0: none
std::atomic<const char*> doing_now = nullptr;
std::atomic<double> limit_now = 0;

[[noreturn]] void watch() {
  while (true) {
    std::this_thread::sleep_for(kLook);
    const Clock::rep end = deadline.load(std::memory_order_acquire);
    if (end == 0 || Clock::now().time_since_epoch().count() < end) continue;
    std::fputs(fmt::format("trainyard: process {} waited {} s for MPI to {}\n", getpid(),
                           limit_now.load(), doing_now.load())
                   .c_str(),
               stderr);
    _exit(1);
  }
}

}  // namespace

char process_state(pid_t process) {
  std::FILE* file = std::fopen(fmt::format("/proc/{}/stat", process).c_str(), "r");
  if (file == nullptr) return 0;
  // "123 (name) S …"; the name may hold anything.
  char text[512] = {};
  const size_t got = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  const size_t close = std::string_view(text, got).rfind(')');
  if (close == std::string_view::npos || close + 2 >= got) return 0;
  return text[close + 2];
}

Processes::Processes(std::vector<pid_t> processes) : processes_(std::move(processes)) {
  for (pid_t& process : processes_) {
    // In another container a number means somebody else, or nobody.
    if (process != 0 && process_state(process) == 0) process = 0;
  }
}

int64_t Processes::find_ended() const {
  for (size_t r = 0; r < processes_.size(); ++r) {
    if (processes_[r] == 0) continue;
    const char state = process_state(processes_[r]);
    if (state == 0 || state == 'Z' || state == 'X') return static_cast<int64_t>(r);
  }
  return -1;
}

bool Processes::is_stopped(int64_t rank) const {
  const char state = process(rank) == 0 ? 0 : process_state(process(rank));
  return state == 'T' || state == 't';
}

std::string Processes::condition(int64_t rank) const {
  const pid_t process = this->process(rank);
  if (process == 0) return {};
  const char state = process_state(process);
  const char* words = is_stopped(rank)               ? "is stopped"
                      : state == 'D'                 ? "waits for a disk"
                      : state == 'R' || state == 'S' ? "is alive"
                                                     : "has ended";
  return fmt::format("process {} {}", process, words);
}

Deadline::Deadline(double seconds, const char* doing) {
  static const bool kStarted = [] {
    std::thread(watch).detach();
    return true;
  }();
  static_cast<void>(kStarted);
  doing_now = doing;
  limit_now = seconds;
  const auto span =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  deadline.store((Clock::now() + span).time_since_epoch().count(), std::memory_order_release);
}

Deadline::~Deadline() {
  deadline.store(0, std::memory_order_release);
}

}  // namespace trainyard::dist
