// What training runs left behind, side by side.
#pragma once

#include <filesystem>
#include <span>

#include "report/document.h"
#include "runs/utilization.h"

namespace trainyard::report {

// Curves of loss and accuracy, the figures at the end, the confusions of the last test, what was
// busy (on average over the window; absent: all the time) and the settings in which the runs
// differ. Throws Error naming a folder that is none of a run, or a run
// without a finished epoch.
Document runs_document(std::span<const std::filesystem::path> directories,
                       const std::optional<Window>& window = {});

}  // namespace trainyard::report
