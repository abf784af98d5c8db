// The run directories below some folders, and what is new in them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "ui/metrics_tail.h"
#include "ui/run_state.h"

namespace trainyard::ui {

// A run as far as it was read.
struct Run {
  std::filesystem::path directory;
  std::string name;          // below the folder that was given, safe to show
  Json settings;             // an object; empty where config.yaml is missing or cannot be read
  Json machine;              // null: not recorded
  std::string problem = {};  // with its files; empty: none
  MetricsTail metrics = {};
  RunState state = RunState::kStopped;
  int64_t settings_time = 0;  // when config.yaml was written
  uint64_t changed = 0;       // the index' version that has brought the last change
};

// Not thread-safe. Nothing in the folders is changed, and no link is followed out of them.
class RunIndex {
 public:
  // Folders of runs, or runs themselves. Throws Error naming one that is no folder.
  explicit RunIndex(std::vector<std::filesystem::path> folders);

  // Looks at all folders and reads what is new.
  void scan();
  // Grows with each change.
  uint64_t version() const { return version_; }
  const std::vector<std::filesystem::path>& folders() const { return folders_; }
  // By id: the path below the folder, as names in addresses are written.
  const std::map<std::string, Run>& runs() const { return runs_; }
  const Run* find(std::string_view id) const;
  // Ids of runs that went away after that version.
  std::vector<std::string> gone_since(uint64_t version) const;
  // Names of the settings in which runs differ, in the order of config.yaml; a run's name and its
  // folder are none.
  const std::vector<std::string>& differing() const { return differing_; }

 private:
  using Found = std::map<std::string, std::filesystem::path>;
  void look_below(const std::filesystem::path& folder, const std::filesystem::path& name,
                  const std::string& prefix, int depth, Found& found) const;
  Found find_runs() const;
  void forget_missing(const Found& found);
  bool update(Run& run, const std::set<uint64_t>& locked);
  bool update_settings(Run& run);
  void find_differing();

  std::vector<std::filesystem::path> folders_;
  std::map<std::string, Run> runs_;
  std::vector<std::pair<uint64_t, std::string>> gone_;
  std::vector<std::string> differing_;
  uint64_t version_ = 0;
};

}  // namespace trainyard::ui
