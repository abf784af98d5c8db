// This program as a process of its own, watched while it runs.
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

#include "base/child_process.h"
#include "program/lab/run_lab.h"

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

}  // namespace

Outcome run_this_program(std::span<const std::string> words, const std::filesystem::path& log,
                         const std::function<bool(const std::string&)>& tick) {
  // Ctrl-C is for this process, which asks the command to stop; one that is killed leaves none
  // behind.
  std::vector<std::string> line = {"setpriv", "--pdeathsig", "TERM", path_of_this_program()};
  line.insert(line.end(), words.begin(), words.end());
  const ChildProcess child(line, {.log = log, .own_group = true});
  Outcome outcome;
  bool asked = false;
  while (child.read_some(outcome.out, kTickMs)) {
    if (!tick(last_line(tail_of(log))) && !asked) {
      child.send(SIGTERM);
      asked = true;
    }
  }
  outcome.code = child.wait();
  outcome.error = tail_of(log);
  return outcome;
}

}  // namespace trainyard::lab
