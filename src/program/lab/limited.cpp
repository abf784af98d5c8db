#include "program/lab/limited.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <new>
#include <string_view>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::lab {
namespace {

constexpr int kResult = 0;
constexpr int kRefused = 2;

// What RLIMIT_DATA counts of this process.
rlim_t data_bytes() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  for (int field = 0; field < 6; ++field) file >> pages;
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

void limit(int resource, rlim_t value) {
  const rlimit limits{value, value};
  setrlimit(static_cast<__rlimit_resource>(resource), &limits);
}

void write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return;
    text.remove_prefix(static_cast<size_t>(put));
  }
}

[[noreturn]] void be_the_copy(const std::function<std::string()>& work, int out,
                              const Limits& limits) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, static_cast<rlim_t>(limits.seconds));
  limit(RLIMIT_DATA, data_bytes() + limits.memory_bytes);
  // A library that runs out of memory says so on stderr before it aborts.
  dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
  std::signal(SIGPIPE, SIG_DFL);
  int code = kResult;
  try {
    write_whole(out, work());
  } catch (const Error& error) {
    write_whole(out, error.what());
    code = kRefused;
  } catch (const std::bad_alloc&) {
    std::abort();
  }
  _exit(code);
}

// Until its end, or until there are more bytes than allowed.
std::string read_whole(int fd, size_t most) {
  std::string text;
  std::array<char, 65536> part;
  while (text.size() <= most) {
    const ssize_t got = ::read(fd, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(part.data(), static_cast<size_t>(got));
  }
  return text;
}

}  // namespace

std::string run_limited(const std::function<std::string()>& work, const std::string& where,
                        const Limits& limits) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw_failure("no pipe: {}", std::strerror(errno));
  const pid_t copy = fork();
  if (copy < 0) throw_failure("no process: {}", std::strerror(errno));
  if (copy == 0) be_the_copy(work, ends[1], limits);
  ::close(ends[1]);
  std::string text = read_whole(ends[0], limits.result_bytes);
  ::close(ends[0]);  // one that still writes ends by SIGPIPE
  int status = 0;
  while (waitpid(copy, &status, 0) < 0 && errno == EINTR) {
  }
  TY_REQUIRE(text.size() <= limits.result_bytes, "{}: the result is larger than {}", where,
             bytes_text(static_cast<double>(limits.result_bytes)));
  if (WIFEXITED(status) && WEXITSTATUS(status) == kResult) return text;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kRefused) throw Error(text);
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  TY_REQUIRE(signal != SIGXCPU && signal != SIGKILL, "{}: took more than {} s of computing", where,
             limits.seconds);
  throw_error("{}: needed more than {} of memory, or recursed too deep", where,
              bytes_text(static_cast<double>(limits.memory_bytes)));
}

}  // namespace trainyard::lab
