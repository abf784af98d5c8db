// What training runs left behind, side by side.
#pragma once

#include <filesystem>
#include <span>

#include "report/document.h"

namespace trainyard::report {

// Curves of loss and accuracy, the figures at the end, the confusions of the last test, and the
// settings in which the runs differ. Throws Error naming a folder that is none of a run, or a run
// without a finished epoch.
Document runs_document(std::span<const std::filesystem::path> directories);

}  // namespace trainyard::report
