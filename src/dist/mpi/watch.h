// What MPI does not report: whether the processes of other ranks still live, and when a call of its
// own takes too long.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace trainyard::dist {

// The letter of /proc/PID/stat (R, S, D, T, Z …); 0: there is no such process.
char process_state(pid_t process);

// Processes of ranks, as far as this process can see them; others are taken to live.
class Processes {
 public:
  // By rank; 0: on another host.
  explicit Processes(std::vector<pid_t> processes);

  // A rank whose process has ended; -1: none is known.
  int64_t find_ended() const;
  bool is_stopped(int64_t rank) const;
  // "process 123 is stopped", "process 123 is alive", … Empty: not known.
  std::string condition(int64_t rank) const;
  pid_t process(int64_t rank) const { return processes_[static_cast<size_t>(rank)]; }

 private:
  std::vector<pid_t> processes_;
};

// While it lives, the process ends with exit code 1 and a message once the time is up: for calls
// that wait without a limit. One at a time.
class Deadline {
 public:
  // `doing` must be a literal: "start".
  Deadline(double seconds, const char* doing);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
};

}  // namespace trainyard::dist
