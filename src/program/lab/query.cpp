#include "program/lab/query.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

extern "C" {
#include <jq.h>
#include <jv.h>
}

#include "base/error.h"
#include "base/text.h"
#include "program/lab/embedded.h"

namespace trainyard::lab {
namespace {

// Work that may be endless or huge, in a process of its own with limits on time and memory.
struct Limits {
  int seconds = 1;                          // of computing
  size_t memory_bytes = size_t{512} << 20;  // beyond what this process has
  size_t result_bytes = size_t{16} << 20;
};

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

// What `work` returns, computed in a copy of this process (fork), which must have no other threads.
// An Error that it throws is thrown here; one is thrown too, naming `where`, if a limit is reached
// or the copy crashes.
std::string run_limited(const std::function<std::string()>& work, const std::string& where,
                        const Limits& limits = {}) {
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

std::string text_of(jv value) {
  std::string text = jv_string_value(value);
  jv_free(value);
  return text;
}

void collect(void* messages, jv message) {
  auto& text = *static_cast<std::string*>(messages);
  if (!text.empty()) text += "; ";
  text += text_of(jq_format_error(message));
}

// `debug` and `stderr` say nothing, `input` has nothing: without these libjq crashes.
void say_nothing(void* /*data*/, jv message) {
  jv_free(message);
}

jv no_input(jq_state* /*state*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return jv_invalid();
}

using State = std::unique_ptr<jq_state, decltype([](jq_state* state) { jq_teardown(&state); })>;

// `input_asked` is set while the program runs and must outlive the state.
State compile(std::string_view program, std::string_view functions, const std::string& where,
              bool& input_asked) {
  State state(jq_init());
  if (state == nullptr) throw_failure("libjq could not be started");
  std::string messages;
  jq_set_error_cb(state.get(), collect, &messages);
  jq_set_debug_cb(state.get(), say_nothing, nullptr);
  jq_set_input_cb(state.get(), no_input, &input_asked);
  const std::string whole =
      fmt::format("{}\n{}\n{}", embedded_text(embedded_files(), "prelude.jq"), functions, program);
  if (jq_compile(state.get(), whole.c_str()) == 0) {
    throw_error("{}: '{}' is not a jq program: {}", where, program, messages);
  }
  jq_set_error_cb(state.get(), nullptr, nullptr);
  return state;
}

// The first result, as JSON.
std::string first_result(std::string_view program, std::string_view functions, const Json& input,
                         const std::string& where) {
  bool input_asked = false;
  const State state = compile(program, functions, where, input_asked);
  const std::string text = input.dump(-1);
  jq_start(state.get(), jv_parse_sized(text.data(), static_cast<int>(text.size())), 0);
  jv result = jq_next(state.get());
  if (jv_is_valid(result)) return text_of(jv_dump_string(result, 0));
  const bool failed = jv_invalid_has_msg(jv_copy(result)) != 0;
  if (!failed) {
    jv_free(result);
    throw_error("{}: the jq program gives no result", where);
  }
  jv message = jv_invalid_get_msg(result);
  if (jv_get_kind(message) != JV_KIND_STRING) message = jv_dump_string(message, 0);
  const std::string problem = text_of(message);
  // What jq calls the end of inputs.
  TY_REQUIRE(!input_asked || problem != "break",
             "{}: a query has one input, which is '.'; there is no next one", where);
  throw_error("{}: {}", where, problem);
}

}  // namespace

Json ask(std::string_view program, const Json& input, const std::string& where,
         std::string_view functions) {
  const auto work = [&] { return first_result(program, functions, input, where); };
  return Json::parse(run_limited(work, where), where);
}

}  // namespace trainyard::lab
