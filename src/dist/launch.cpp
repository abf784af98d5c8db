#include "dist/launch.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/error.h"

namespace trainyard::dist {
namespace {

constexpr int kWrongRequest = 2;
constexpr int kNotFound = 127;

std::vector<std::string> command_line(int64_t ranks, std::span<const std::string> arguments,
                                      Binding binding) {
  // mpirun is told when this process is killed, and ends its ranks.
  std::vector<std::string> words = {
      "setpriv", "--pdeathsig",         "TERM",           "mpirun", "--quiet",
      "-n",      std::to_string(ranks), "--oversubscribe"};
  if (binding == Binding::kNone) words.insert(words.end(), {"--bind-to", "none"});
  words.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

// In containers and on test machines everything runs as root, which mpirun refuses by itself.
std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  if (geteuid() == 0) {
    variables.emplace_back("OMPI_ALLOW_RUN_AS_ROOT=1");
    variables.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
  }
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

// The process, and the end of the pipe that its output comes from.
std::pair<pid_t, int> start(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw_failure("no pipe: {}", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<std::string> variables = environment();
  // A group of its own: Ctrl-C is for this process, which tells the ranks what they should do.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t process = 0;
  const int code = posix_spawnp(&process, words[0].c_str(), &actions, &attributes,
                                pointers(words).data(), pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (code != 0) {
    close(ends[0]);
    throw_failure("setpriv cannot be started: {}; it is part of util-linux", std::strerror(code));
  }
  return {process, ends[0]};
}

// Reads until the other end is closed.
std::string read_all(int from, pid_t process, const std::function<bool()>& wants_stop) {
  constexpr int kLookMs = 100;
  std::string text;
  std::array<char, 4096> buffer{};
  bool told = false;
  while (true) {
    if (!told && wants_stop()) {
      told = true;
      kill(process, SIGUSR1);
    }
    pollfd ready{.fd = from, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, kLookMs) <= 0) continue;
    const ssize_t got = read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  close(from);
  return text;
}

int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

JobEnd run_job(int64_t ranks, std::span<const std::string> arguments,
               const std::function<bool()>& wants_stop, Binding binding) {
  const auto [process, output] = start(command_line(ranks, arguments, binding));
  JobEnd end;
  end.output = read_all(output, process, wants_stop);
  end.code = wait_for(process);
  if (end.code == kNotFound)
    throw_failure("there is no mpirun; it is part of Open MPI (openmpi-bin)");
  TY_REQUIRE(end.code != kWrongRequest, "the {} ranks refused the request (see above)", ranks);
  return end;
}

std::string run_as_ranks(int64_t ranks, std::span<const std::string> arguments, Binding binding) {
  JobEnd end = run_job(
      ranks, arguments, [] { return false; }, binding);
  if (end.code != 0) throw_failure("the job of {} ranks ended with exit code {}", ranks, end.code);
  return std::move(end.output);
}

}  // namespace trainyard::dist
