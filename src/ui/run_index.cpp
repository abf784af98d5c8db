#include "ui/run_index.h"

#include <algorithm>
#include <array>
#include <sys/stat.h>
#include <unordered_map>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/yaml.h"
#include "http/url.h"

namespace trainyard::ui {
namespace {

namespace fs = std::filesystem;

// Folders of studies hold folders of runs.
constexpr int kDeepest = 3;
constexpr int64_t kMostText = 1 << 20;

// When a regular file that is no link was written, in nanoseconds; 0: there is none.
int64_t time_of(const fs::path& file) {
  struct stat status {};
  if (lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
}

bool is_run(const fs::path& folder) {
  return time_of(folder / "config.yaml") != 0 || time_of(folder / "metrics.jsonl") != 0;
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end;
       at.increment(problem)) {
    std::error_code unknown;
    if (at->symlink_status(unknown).type() == fs::file_type::directory) {
      found.push_back(at->path());
    }
  }
  return found;
}

Json read_machine(const fs::path& directory) {
  const fs::path file = directory / "machine.json";
  if (time_of(file) == 0) return {};
  return Json::parse(read_file(file, kMostText), "machine.json");
}

Json read_settings(const fs::path& directory) {
  const auto document = YamlDocument::parse_without_aliases(
      read_file(directory / "config.yaml", kMostText), "config.yaml");
  TY_REQUIRE(document->json().is_object(), "config.yaml: expected names and values");
  return document->json();
}

// They differ by nature.
bool names_run(std::string_view setting) {
  constexpr std::array<std::string_view, 4> kNames = {"name", "runs_dir", "resume", "config"};
  return std::find(kNames.begin(), kNames.end(), setting) != kNames.end();
}

}  // namespace

RunIndex::RunIndex(std::vector<fs::path> folders) : folders_(std::move(folders)) {
  for (const fs::path& folder : folders_) {
    TY_REQUIRE(fs::is_directory(folder),
               "'{}' is no folder; expected one that holds runs, or a run itself",
               printable_line(folder.string()));
  }
}

const Run* RunIndex::find(std::string_view id) const {
  const auto found = runs_.find(std::string(id));
  return found == runs_.end() ? nullptr : &found->second;
}

std::vector<std::string> RunIndex::gone_since(uint64_t version) const {
  std::vector<std::string> ids;
  for (const auto& [at, id] : gone_) {
    if (at > version && !runs_.contains(id)) ids.push_back(id);
  }
  return ids;
}

void RunIndex::look_below(const fs::path& folder, const fs::path& name, const std::string& prefix,
                          int depth, Found& found) const {
  if (is_run(folder)) {
    found.emplace(serve::url_encode(prefix + name.string()), folder);
    return;
  }
  if (depth == kDeepest) return;
  for (const fs::path& inside : folders_in(folder)) {
    look_below(inside, depth == 0 ? inside.filename() : name / inside.filename(), prefix, depth + 1,
               found);
  }
}

// Of several folders, each id begins with the folder's number: their runs may be named alike.
RunIndex::Found RunIndex::find_runs() const {
  Found found;
  for (size_t i = 0; i < folders_.size(); ++i) {
    const std::string prefix = folders_.size() == 1 ? "" : fmt::format("{}:", i + 1);
    const fs::path own = fs::weakly_canonical(folders_[i]).filename();
    look_below(folders_[i], own, prefix, 0, found);
  }
  return found;
}

void RunIndex::forget_missing(const Found& found) {
  for (auto at = runs_.begin(); at != runs_.end();) {
    if (found.contains(at->first)) {
      ++at;
      continue;
    }
    gone_.emplace_back(++version_, at->first);
    at = runs_.erase(at);
  }
}

bool RunIndex::update_settings(Run& run) {
  const int64_t time = time_of(run.directory / "config.yaml");
  if (time == run.settings_time && run.changed != 0) return false;
  run.settings_time = time;
  run.problem.clear();
  run.settings = Json::object();
  try {
    run.machine = read_machine(run.directory);
    if (time != 0) run.settings = read_settings(run.directory);
  } catch (const Error& error) {
    run.problem = printable_line(error.what());
  }
  return true;
}

// True if the settings have changed, which decides what columns there are.
bool RunIndex::update(Run& run, const std::set<uint64_t>& locked) {
  const bool new_settings = update_settings(run);
  const bool new_lines = run.metrics.update(run.directory / "metrics.jsonl");
  const RunState state = state_of(run.directory, run.machine, locked);
  if (new_settings || new_lines || state != run.state) run.changed = ++version_;
  run.state = state;
  return new_settings;
}

void RunIndex::find_differing() {
  differing_.clear();
  struct Seen {
    std::string value;
    size_t runs = 0;
    bool differs = false;
  };
  std::unordered_map<std::string, Seen> seen;
  std::vector<std::string> order;
  for (const auto& [id, run] : runs_) {
    for (const auto& [name, value] : run.settings.members()) {
      const auto [at, added] = seen.try_emplace(name);
      std::string text = value.dump(-1);
      if (added) order.push_back(name);
      at->second.differs = at->second.differs || (!added && at->second.value != text);
      at->second.value = std::move(text);
      ++at->second.runs;
    }
  }
  for (const std::string& name : order) {
    const Seen& one = seen.at(name);
    if ((one.differs || one.runs < runs_.size()) && !names_run(name)) differing_.push_back(name);
  }
}

void RunIndex::scan() {
  const std::set<uint64_t> locked = locked_inodes();
  const Found found = find_runs();
  const size_t before = runs_.size();
  forget_missing(found);
  bool new_settings = runs_.size() != before;
  for (const auto& [id, directory] : found) {
    const auto [at, added] = runs_.try_emplace(id);
    Run& run = at->second;
    if (added) {
      run.directory = directory;
      run.name = printable_line(serve::url_decode(id));
    }
    new_settings = update(run, locked) || new_settings;
  }
  if (new_settings) find_differing();
}

}  // namespace trainyard::ui
