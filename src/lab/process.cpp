// This program as a process of its own, watched while it runs.
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "lab/run_lab.h"

namespace trainyard::lab {
namespace {

constexpr int kTickMs = 250;
constexpr size_t kTail = 4096;

// What was appended to a file last, whole lines of it.
std::string tail_of(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  const off_t size = lseek(fd, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(kTail));
  std::string text(static_cast<size_t>(size - from), ' ');
  const ssize_t got = pread(fd, text.data(), text.size(), from);
  close(fd);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const size_t begin = text.find_last_of("\n\r");
  return begin == std::string::npos ? text : text.substr(begin + 1);
}

class Child {
 public:
  Child(std::span<const std::string> arguments, const std::filesystem::path& log) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw_failure("no pipe: {}", std::strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
    std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    std::vector<std::string> words = {self};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const int code =
        posix_spawn(&process_, self.c_str(), &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    output_ = ends[0];
    if (code != 0) {
      close(output_);
      throw_failure("{} cannot be started: {}", self, std::strerror(code));
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { close(output_); }

  // Appends what it wrote since; false once its output has ended. Waits for at most a tick.
  bool read_some(std::string& text) const {
    pollfd ready{.fd = output_, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, kTickMs) <= 0) return true;
    std::array<char, 65536> buffer{};
    const ssize_t got = read(output_, buffer.data(), buffer.size());
    if (got > 0) text.append(buffer.data(), static_cast<size_t>(got));
    return got > 0 || (got < 0 && errno == EINTR);
  }

  void ask_to_stop() const { kill(process_, SIGTERM); }

  int wait() const {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t process_ = 0;
  int output_ = -1;
};

}  // namespace

Outcome run_this_program(std::span<const std::string> words, const std::filesystem::path& log,
                         const std::function<bool(const std::string&)>& tick) {
  const Child child(words, log);
  Outcome outcome;
  bool asked = false;
  while (child.read_some(outcome.out)) {
    if (!tick(last_line(tail_of(log))) && !asked) {
      child.ask_to_stop();
      asked = true;
    }
  }
  outcome.code = child.wait();
  outcome.error = tail_of(log);
  return outcome;
}

}  // namespace trainyard::lab
