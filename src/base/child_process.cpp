#include "base/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/error.h"

namespace trainyard {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment(std::span<const std::string> more) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  variables.insert(variables.end(), more.begin(), more.end());
  return variables;
}

std::filesystem::path process_folder(pid_t process) {
  return std::filesystem::path("/proc") / std::to_string(process);
}

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> all;
  std::error_code problem;
  // Each of its threads has children of its own.
  for (const auto& thread :
       std::filesystem::directory_iterator(process_folder(process) / "task", problem)) {
    std::ifstream children(thread.path() / "children");
    for (pid_t child = 0; children >> child;) all.push_back(child);
  }
  return all;
}

// Whether it would call a function of its own, by the mask of caught signals that the kernel shows.
bool has_handler(pid_t process, int signal) {
  std::ifstream status(process_folder(process) / "status");
  for (std::string line; std::getline(status, line);) {
    constexpr std::string_view kCaught = "SigCgt:";
    if (!line.starts_with(kCaught)) continue;
    const uint64_t mask = std::strtoull(line.c_str() + kCaught.size(), nullptr, 16);
    return ((mask >> (signal - 1)) & 1U) != 0;
  }
  return false;
}

// Ended, but its parent has not asked for its exit code.
bool is_defunct(pid_t process) {
  std::ifstream stat(process_folder(process) / "stat");
  const std::string text{std::istreambuf_iterator<char>(stat), {}};
  // PID (NAME) STATE …; the name may have parentheses of its own.
  const size_t name_end = text.rfind(')');
  return name_end == std::string::npos || text.substr(name_end).starts_with(") Z");
}

// Whether a child was stopped or has ended; its exit code can still be asked for.
bool stands_still(pid_t child) {
  siginfo_t found{};
  constexpr int kWithoutWaiting = WSTOPPED | WEXITED | WNOWAIT | WNOHANG;
  return waitid(P_PID, static_cast<id_t>(child), &found, kWithoutWaiting) != 0 || found.si_pid != 0;
}

// While it lives, a pipe whose reader is gone does not end this process. Only for this thread:
// others may write to children of theirs.
class HeldSigpipe {
 public:
  HeldSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~HeldSigpipe() {
    const timespec at_once{};
    if (sigismember(&before_, SIGPIPE) == 0) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSigpipe(const HeldSigpipe&) = delete;
  HeldSigpipe& operator=(const HeldSigpipe&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
};

}  // namespace

ChildProcess::ChildProcess(std::span<const std::string> command, const ChildOptions& options) {
  std::array<int, 2> ends{};
  std::array<int, 2> input_ends{-1, -1};
  const bool piped = pipe2(ends.data(), O_CLOEXEC) == 0 &&
                     (!options.input || pipe2(input_ends.data(), O_CLOEXEC) == 0);
  if (!piped) throw_failure("no pipe: {}", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (options.input) {
    posix_spawn_file_actions_adddup2(&actions, input_ends[0], STDIN_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  if (!options.log.empty()) {
    // Not through a link, which may have come with the folder of somebody else.
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, options.log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW, 0644);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (options.own_group) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> arguments(command.begin(), command.end());
  std::vector<std::string> variables = environment(options.variables);
  const int code = posix_spawnp(&process_, arguments[0].c_str(), &actions, &attributes,
                                pointers(arguments).data(), pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (options.input) close(input_ends[0]);
  output_ = ends[0];
  input_ = input_ends[1];
  if (code != 0) {
    close_pipes();
    throw_failure("{} cannot be started: {}", command[0], std::strerror(code));
  }
}

ChildProcess::~ChildProcess() {
  close_pipes();
}

void ChildProcess::close_pipes() const {
  close(output_);
  if (input_ >= 0) close(input_);
}

bool ChildProcess::write_all(std::string_view text, int milliseconds) const {
  const HeldSigpipe held;
  while (!text.empty()) {
    pollfd ready{.fd = input_, .events = POLLOUT, .revents = 0};
    if (poll(&ready, 1, milliseconds) <= 0) break;
    // No more than a pipe takes at once, so that the write does not wait.
    const ssize_t put = ::write(input_, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (put <= 0) break;
    text.remove_prefix(static_cast<size_t>(put));
  }
  return text.empty();
}

bool ChildProcess::read_some(std::string& text, int milliseconds) const {
  pollfd ready{.fd = output_, .events = POLLIN, .revents = 0};
  if (poll(&ready, 1, milliseconds) <= 0) return true;
  std::array<char, 65536> buffer{};
  const ssize_t got = read(output_, buffer.data(), buffer.size());
  if (got > 0) text.append(buffer.data(), static_cast<size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

void ChildProcess::send(int signal) const {
  kill(process_, signal);
}

void ChildProcess::send_to_listening_children(int signal) const {
  for (const pid_t child : children_of(process_)) {
    if (has_handler(child, signal)) kill(child, signal);
  }
}

bool ChildProcess::has_living_children() const {
  const std::vector<pid_t> children = children_of(process_);
  return !std::ranges::all_of(children, is_defunct);
}

void ChildProcess::kill_with_children() const {
  // While it lives, its children keep it as their parent and can be found. While it stands still,
  // it neither starts more nor acts on the end of those.
  send(SIGSTOP);
  // A bounded number of looks: one that waits for the kernel does not stop, but can be killed.
  for (int look = 0; look < 1000 && !stands_still(process_); ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (const pid_t child : children_of(process_)) kill(child, SIGKILL);
  send(SIGKILL);
}

void ChildProcess::kill_group() const {
  kill(-process_, SIGKILL);
}

int ChildProcess::wait() const {
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string path_of_this_program() {
  // Where a launcher starts the program through a loader of its own, which is what the system
  // knows.
  if (const char* launcher = std::getenv("TRAINYARD_PROGRAM")) return launcher;
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

}  // namespace trainyard
