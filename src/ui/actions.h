// What a page may tell a run.
#pragma once

#include "ui/run_index.h"

namespace trainyard::ui {

// Asks the process that holds the run's folder to end its step, save and stop. Throws RequestError
// if none of this machine does.
void stop_run(const Run& run);

// Throws RequestError for a run that somebody works on, or that others have written.
void require_resumable(const Run& run);

}  // namespace trainyard::ui
