// What `trainyard rl` prints.
#pragma once

#include <span>

#include "report/table.h"
#include "rl/env/recording.h"

namespace trainyard::cli {

report::Document environments_document();
// Data: {files: [{file, environment, steps, mismatches, worst}], mismatches}.
report::Document recordings_document(std::span<const rl::RecordingCheck> checks);

}  // namespace trainyard::cli
