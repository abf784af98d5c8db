#include "ui/run_state.h"

#include <charconv>
#include <chrono>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "base/parse_number.h"

namespace trainyard::ui {
namespace {

namespace fs = std::filesystem;

// A run notes what was busy once a second, with its next line.
constexpr std::chrono::seconds kRecent{10};

bool is_ours(const Json& machine) {
  const Json* host = machine.is_object() ? machine.find("host") : nullptr;
  char own[256] = {};
  if (host == nullptr || !host->is_string() || gethostname(own, sizeof own - 1) != 0) return true;
  return host->as_string() == own;
}

bool written_recently(const fs::path& directory) {
  for (const char* name : {"metrics.jsonl", "utilization.jsonl"}) {
    std::error_code missing;
    const auto time = fs::last_write_time(directory / name, missing);
    if (!missing && fs::file_time_type::clock::now() - time < kRecent) return true;
  }
  return false;
}

bool has_open(int64_t process, const struct stat& folder) {
  std::error_code gone;
  for (fs::directory_iterator at("/proc/" + std::to_string(process) + "/fd", gone), end;
       !gone && at != end; at.increment(gone)) {
    struct stat open {};
    if (stat(at->path().c_str(), &open) == 0 && open.st_dev == folder.st_dev &&
        open.st_ino == folder.st_ino) {
      return true;
    }
  }
  return false;
}

std::string locks_text() {
  std::ifstream file("/proc/locks");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::string_view name_of(RunState state) {
  switch (state) {
    case RunState::kRunning:
      return "running";
    case RunState::kFinished:
      return "finished";
    case RunState::kStopped:
      return "stopped";
  }
  return "";
}

// "1: FLOCK  ADVISORY  WRITE 15809 fe:00:9978028 0 EOF"
std::multimap<uint64_t, int64_t> parse_locks(std::string_view text) {
  std::multimap<uint64_t, int64_t> found;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, kind, advice, mode, process, place;
    words >> number >> kind >> advice >> mode >> process >> place;
    uint64_t inode = 0;
    const size_t colon = place.rfind(':');
    if (kind != "FLOCK" || mode != "WRITE" || colon == std::string::npos) continue;
    std::from_chars(place.data() + colon + 1, place.data() + place.size(), inode);
    found.emplace(inode, parse_number<int64_t>(process).value_or(0));
  }
  return found;
}

std::set<uint64_t> locked_inodes() {
  std::set<uint64_t> inodes;
  for (const auto& [inode, process] : parse_locks(locks_text())) inodes.insert(inode);
  return inodes;
}

std::optional<int64_t> process_that_holds(const fs::path& directory) {
  return process_that_holds(directory, locks_text());
}

std::optional<int64_t> process_that_holds(const fs::path& directory, std::string_view locks) {
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0) return std::nullopt;
  const std::multimap<uint64_t, int64_t> held = parse_locks(locks);
  const auto [begin, end] = held.equal_range(status.st_ino);
  for (auto at = begin; at != end; ++at) {
    if (at->second > 1 && has_open(at->second, status)) return at->second;
  }
  return std::nullopt;
}

RunState state_of(const fs::path& directory, const Json& machine,
                  const std::set<uint64_t>& locked) {
  struct stat status {};
  const bool held = stat(directory.c_str(), &status) == 0 && locked.contains(status.st_ino);
  if (held || (!is_ours(machine) && written_recently(directory))) return RunState::kRunning;
  // A report is written by a training that was stopped, too.
  std::error_code missing;
  const bool ended = fs::exists(directory / "model.onnx", missing);
  return ended ? RunState::kFinished : RunState::kStopped;
}

}  // namespace trainyard::ui
