// What training runs left behind, side by side.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "report/document.h"

namespace trainyard::report {

// Seconds since the run began.
struct Window {
  double begin = 0;
  double end = 0;
};

// "A:B", in seconds, A below B; throws Error otherwise.
Window parse_window(const std::string& text);

// A run's name, its samples and its epochs, as the files have them.
struct BusyRun {
  std::string name = {};
  std::vector<Json> samples = {};
  std::vector<Json> epochs = {};
};

// The chart, the averages over the window (absent: the whole run) and what limits each run; nothing
// for runs without samples. `data` gets the averages by run.
std::vector<Block> utilization_blocks(std::span<const BusyRun> runs,
                                      const std::optional<Window>& window, Json& data);

// Curves of loss and accuracy, the figures at the end, the confusions of the last test, what was
// busy (on average over the window; absent: all the time) and the settings in which the runs
// differ. Throws Error naming a folder that is none of a run, or a run
// without a finished epoch.
Document runs_document(std::span<const std::filesystem::path> directories,
                       const std::optional<Window>& window = {});

}  // namespace trainyard::report
