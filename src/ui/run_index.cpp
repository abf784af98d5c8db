#include "ui/run_index.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <set>
#include <thread>
#include <unordered_map>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"
#include "http/url.h"
#include "runs/settings_lines.h"

namespace trainyard::ui {
namespace {

// What is new in one run directory.
struct RunUpdate {
  bool anything = false;
  bool settings = false;  // which decide what columns there are
};

namespace fs = std::filesystem;

constexpr int64_t kMostText = 1 << 20;

Json read_machine(const fs::path& directory) {
  const fs::path file = directory / "machine.json";
  if (runs::mark_of(file).time == 0) return {};
  return Json::parse(read_file(file, kMostText), "machine.json");
}

// The file that says what a run was asked to do.
fs::path settings_file(const Run& run) {
  return run.directory / (run.source == runs::Source::kMlflow ? "meta.yaml" : "config.yaml");
}

void read_settings(Run& run, runs::SettingsLines& lines) {
  run.settings = Json::object();
  run.machine = read_machine(run.directory);
  if (run.settings_mark.time == 0) return;
  if (run.source == runs::Source::kTrainyard) {
    run.settings = lines.parse(read_file(settings_file(run), kMostText), "config.yaml");
  } else {
    run.settings = runs::settings_of_others(run.source, run.directory);
  }
}

bool update_settings(Run& run, runs::SettingsLines& lines) {
  const runs::FileMark mark = runs::mark_of(settings_file(run));
  if (mark == run.settings_mark && run.changed != 0) return false;
  run.settings_mark = mark;
  run.problem.clear();
  run.asked_prediction = false;
  try {
    read_settings(run, lines);
  } catch (const std::exception& error) {  // one run must not hide the others
    run.problem = printable_line(error.what());
  }
  return true;
}

bool update_notes(Run& run) {
  const runs::FileMark mark = runs::mark_of(runs::notes_file(run.directory));
  if (mark == run.notes_mark) return false;
  run.notes_mark = mark;
  run.notes = {};
  try {
    run.notes = runs::read_notes(run.directory);
  } catch (const std::exception& error) {
    run.problem = printable_line(error.what());
  }
  return true;
}

bool update_busy(Run& run) {
  const runs::FileMark mark = runs::mark_of(run.directory / "utilization.jsonl");
  if (mark == run.busy_mark) return false;
  run.busy_mark = mark;
  run.busy = runs::read_resource_summary(run.directory);
  return true;
}

// Runs are independent of one another: several threads may read, each with its own `lines`.
RunUpdate read_news(Run& run, const std::set<uint64_t>& locked, runs::SettingsLines& lines) {
  RunUpdate news{.settings = update_settings(run, lines)};
  news.anything = news.settings;
  news.anything = run.recording->update() || news.anything;
  news.anything = update_notes(run) || news.anything;
  news.anything = update_busy(run) || news.anything;
  const RunState state = state_of(run.directory, run.machine, locked);
  news.anything = news.anything || state != run.state;
  run.state = state;
  return news;
}

namespace fs = std::filesystem;

// Folders of studies hold folders of runs.
constexpr int kDeepest = 3;
// Runs that are worth a thread more.
constexpr size_t kManyRuns = 64;
constexpr size_t kReaders = 4;
// What a look at the rest of long files reads at once: whoever asks meanwhile waits for it.
constexpr size_t kReadAtOnce = 1 << 20;

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

// They differ by nature.
bool names_run(std::string_view setting) {
  constexpr std::array<std::string_view, 4> kNames = {"name", "runs_dir", "resume", "config"};
  return std::find(kNames.begin(), kNames.end(), setting) != kNames.end();
}

// Many new runs are read by several threads, each with lines of settings that it knows.
std::vector<RunUpdate> read_all(const std::vector<Run*>& all, const std::set<uint64_t>& locked,
                                std::vector<runs::SettingsLines>& lines) {
  std::vector<RunUpdate> news(all.size());
  const size_t fresh = static_cast<size_t>(
      std::count_if(all.begin(), all.end(), [](const Run* run) { return run->changed == 0; }));
  const size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const size_t readers = fresh < kManyRuns ? 1 : std::min(kReaders, cores);
  lines.resize(std::max(lines.size(), readers));
  std::atomic<size_t> next = 0;
  const auto read = [&](size_t reader) {
    for (size_t i = next++; i < all.size(); i = next++) {
      news[i] = read_news(*all[i], locked, lines[reader]);
    }
  };
  std::vector<std::future<void>> others;
  for (size_t i = 1; i < readers; ++i) others.push_back(std::async(std::launch::async, read, i));
  read(0);
  for (std::future<void>& other : others) other.get();
  return news;
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

// TensorBoard and others leave runs within runs.
void RunIndex::look_below(const fs::path& folder, const fs::path& name, const std::string& prefix,
                          int depth, Found& found) const {
  using runs::Source;
  if (const std::optional<Source> source = runs::source_of(folder)) {
    found.emplace(serve::url_encode(prefix + name.string()), Place(folder, *source));
    if (*source == Source::kTrainyard || *source == Source::kMlflow) return;
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
    const auto still = found.find(at->first);
    if (still != found.end() && still->second.second == at->second.source) {
      ++at;
      continue;
    }
    gone_.emplace_back(++version_, at->first);
    at = runs_.erase(at);
  }
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
  std::vector<Run*> all;
  for (const auto& [id, place] : found) {
    Run& run = runs_[id];
    if (run.recording == nullptr) {
      run.directory = place.first;
      run.source = place.second;
      run.name = printable_line(serve::url_decode(id));
      run.recording = runs::open_recording(run.source, run.directory);
    }
    all.push_back(&run);
  }
  const std::vector<RunUpdate> news = read_all(all, locked, lines_);
  for (size_t i = 0; i < all.size(); ++i) {
    if (news[i].anything) all[i]->changed = ++version_;
    new_settings = new_settings || news[i].settings;
  }
  unread_.clear();
  for (const auto& [id, run] : runs_) {
    if (!run.recording->whole()) unread_.push_back(id);
  }
  if (new_settings) find_differing();
}

// What this finds is told at the next look.
bool RunIndex::read_more() {
  for (size_t left = kReadAtOnce; left > 0 && !unread_.empty();) {
    const auto run = runs_.find(unread_.back());
    const size_t part = std::min<size_t>(left, 1 << 20);
    if (run == runs_.end() || run->second.recording->read_more(part)) unread_.pop_back();
    left -= part;
  }
  return !unread_.empty();
}

Run* RunIndex::without_prediction() {
  for (auto& [id, run] : runs_) {
    if (!run.asked_prediction && run.source == runs::Source::kTrainyard) return &run;
  }
  return nullptr;
}

void RunIndex::forget_predictions() {
  for (auto& [id, run] : runs_) run.asked_prediction = false;
}

void RunIndex::set_prediction(Run& run, Json predicted) {
  run.asked_prediction = true;
  if (predicted.dump(-1) == run.predicted.dump(-1)) return;
  run.predicted = std::move(predicted);
  run.changed = ++version_;
}

}  // namespace trainyard::ui
