// A program started as a process of its own, whose output is read while it runs.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace trainyard {

struct ChildOptions {
  // NAME=value, besides this process's environment.
  std::vector<std::string> variables = {};
  // Where its stderr goes, from the beginning; empty: where ours goes.
  std::filesystem::path log = {};
  // In a process group of its own, Ctrl-C reaches this process alone.
  bool own_group = false;
  // Its stdin is ours to write to; otherwise it is empty.
  bool input = false;
};

class ChildProcess {
 public:
  // command[0] is looked for in PATH. Throws Failure if it cannot be started.
  ChildProcess(std::span<const std::string> command, const ChildOptions& options);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  // Closes its output and its stdin; does not end or wait for it.
  ~ChildProcess();

  // To its stdin (options.input). False if it does not take it: it has ended, or does not read for
  // so long.
  bool write_all(std::string_view text, int milliseconds) const;

  // Appends what it wrote to stdout since; waits for at most so long. False once its output ended.
  bool read_some(std::string& text, int milliseconds) const;
  pid_t id() const { return process_; }
  void send(int signal) const;
  // To the processes that it started itself (not to theirs) and that have a handler for the signal:
  // one that has none yet would die of it.
  void send_to_listening_children(int signal) const;
  // Whether a process that it started itself has not ended; false if it started none.
  bool has_living_children() const;
  // Ends it and the processes that it started itself, at once.
  void kill_with_children() const;
  // Ends all of its group (options.own_group), also what its children started, at once.
  void kill_group() const;
  // Until it has ended. Its exit code, or 128 and the signal that ended it.
  int wait() const;

 private:
  void close_pipes() const;

  pid_t process_ = 0;
  int output_ = -1;
  int input_ = -1;
};

// The file of the program that is running.
std::string path_of_this_program();

}  // namespace trainyard
