// The program as a process of its own, to which signals can be sent.
#pragma once

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>

#include "base/file.h"

namespace trainyard {

using Seconds = std::chrono::duration<double>;

template <typename Condition>
bool eventually(Condition condition, Seconds limit = Seconds(60)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

class StartedProgram {
 public:
  // `words` begin with the path of the program; its stderr goes to the file `log`. `folder`, if
  // there is one, is looked in before PATH.
  StartedProgram(std::vector<std::string> words, std::filesystem::path log,
                 const std::string& folder = {})
      : log_(std::move(log)) {
    process_ = fork();
    if (process_ == 0) {
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      if (!folder.empty()) setenv("PATH", (folder + ":" + getenv("PATH")).c_str(), 1);
      dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
      dup2(open(log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDERR_FILENO);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
  }
  ~StartedProgram() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
  }
  StartedProgram(const StartedProgram&) = delete;
  StartedProgram& operator=(const StartedProgram&) = delete;

  pid_t process() const { return process_; }
  // What it wrote to stderr so far.
  std::string words() const { return std::filesystem::exists(log_) ? read_file(log_) : ""; }

  bool has_child() const {
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", process_));
    return children.peek() != std::ifstream::traits_type::eof();
  }

  // The exit code, or 128 and the signal that ended it; -1 if it does not end.
  int wait(Seconds limit = Seconds(60)) {
    int status = 0;
    const bool ended =
        eventually([&] { return waitpid(process_, &status, WNOHANG) == process_; }, limit);
    if (!ended) return -1;
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  std::filesystem::path log_;
  pid_t process_ = 0;
};

}  // namespace trainyard
