// The run directories below some folders, and what is new in them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "runs/growing_file.h"
#include "runs/notes.h"
#include "runs/recordings/recording.h"
#include "runs/resource_summary.h"
#include "runs/settings_lines.h"
#include "ui/run_state.h"

namespace trainyard::ui {

// A run as far as it was read.
struct Run {
  std::filesystem::path directory;
  std::string name;  // below the folder that was given, safe to show
  runs::Source source = runs::Source::kTrainyard;
  Json settings = Json::object();  // empty where config.yaml is missing or cannot be read
  Json machine;                    // null: not recorded
  runs::Notes notes = {};
  std::string problem = {};  // with its files; empty: none
  std::unique_ptr<runs::Recording> recording = {};
  std::optional<runs::ResourceSummary> busy = {};
  // Of a step on the machine of the run, by whoever predicts; null: nobody can.
  Json predicted = {};
  bool asked_prediction = false;
  RunState state = RunState::kStopped;
  runs::FileMark settings_mark = {};
  runs::FileMark notes_mark = {};
  runs::FileMark busy_mark = {};
  uint64_t changed = 0;  // the index' version that has brought the last change
};

// Not thread-safe. Nothing in the folders is changed, and no link is followed out of them.
class RunIndex {
 public:
  // Folders of runs, or runs themselves. Throws Error naming one that is no folder.
  explicit RunIndex(std::vector<std::filesystem::path> folders);

  // Looks at all folders and reads what is new, of long files their end first.
  void scan();
  // Reads on in the long files, for a few milliseconds; false if there is nothing left to read.
  bool read_more();
  // Grows with each change.
  uint64_t version() const { return version_; }
  const std::vector<std::filesystem::path>& folders() const { return folders_; }
  // By id: the path below the folder, as names in addresses are written.
  const std::map<std::string, Run>& runs() const { return runs_; }
  const Run* find(std::string_view id) const;
  // A run of which no prediction was asked yet; null: there is none.
  Run* without_prediction();
  // Of settings that are known by now.
  void set_prediction(Run& run, Json predicted);
  // All are to be predicted again.
  void forget_predictions();
  // Ids of runs that went away after that version.
  std::vector<std::string> gone_since(uint64_t version) const;
  // Names of the settings in which runs differ, in the order of config.yaml; a run's name and its
  // folder are none.
  const std::vector<std::string>& differing() const { return differing_; }

 private:
  using Place = std::pair<std::filesystem::path, runs::Source>;
  using Found = std::map<std::string, Place>;
  void look_below(const std::filesystem::path& folder, const std::filesystem::path& name,
                  const std::string& prefix, int depth, Found& found) const;
  Found find_runs() const;
  void forget_missing(const Found& found);
  void find_differing();

  std::vector<std::filesystem::path> folders_;
  std::map<std::string, Run> runs_;
  std::vector<std::pair<uint64_t, std::string>> gone_;
  std::vector<std::string> differing_;
  std::vector<runs::SettingsLines> lines_;  // of each reader
  std::vector<std::string> unread_;         // ids of runs with long files
  uint64_t version_ = 0;
};

}  // namespace trainyard::ui
